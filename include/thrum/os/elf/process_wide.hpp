// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What exists once in a process, though the library is in several of its shared objects, where those
// are ELF files.
//
// The problem
//   Inline variables are one variable only among those objects whose symbols the dynamic linker
//   joins. It does not join what was compiled with -fvisibility=hidden, what lies in the executable
//   and is not exported, and, of clang's, what was loaded with RTLD_LOCAL. Each of them then has a
//   library of its own: a goroutine that comes from one of them into the next is no goroutine
//   there.
//
// The way
//   Each object carries an ELF note, which needs no symbol and no section header: it says where in
//   the object its anchor is, a word that is null at first. A use of something that is
//   process-wide looks at the notes of all objects (dl_iterate_phdr) for an anchor that is set. If
//   there is none, it makes the directory and sets all of them. The loader's lock, which the walk
//   holds, lets one object at a time do that. A walk inside a walk is allowed: glibc's and musl's lock
//   is recursive, FreeBSD's loader sees that the thread holds it.
//
//   The directory knows objects by a name, which holds THRUM_ABI, and by their size. So what two
//   versions of the library, or two flavours of it, call the same stays apart. The form of the note
//   and of the directory itself never changes.
//
// When
//   While the object is loaded: each use of process_wide<T> makes one of the object's initialisers
//   look it up. So no thread waits for the loader's lock later, while it might hold a lock
//   of the scheduler. What runs before that initialiser looks it up by itself.
//
// Unloading
//   The directory holds addresses of functions: handlers of signals, of exit, of terminate; and
//   goroutines elsewhere may be about to return through an object's code. So a shared object that
//   holds this library stays in memory: dlclose() of it succeeds and leaves it there, as if it had
//   been linked with -z nodelete (RTLD_NODELETE). Loading it again gives the same object again.
//
// Rejected: default visibility for such variables (see the problem; and gcc's unique symbols keep
// the object in memory as well), dlsym (does not find what is RTLD_LOCAL), a name in the
// environment (threads), a file in /proc (may not be mounted).
#ifndef THRUM_OS_ELF_PROCESS_WIDE_HPP
#define THRUM_OS_ELF_PROCESS_WIDE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_ELF

#include <thrum/base/order.hpp>
#include <thrum/base/sanitizer.hpp>  // IWYU pragma: keep: with LeakSanitizer

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// All that is process-wide, by name. Its layout is the same for all versions of the library.
struct process_directory {
  static constexpr std::size_t most = 255;
  static constexpr std::size_t longest_name = 80;

  struct entry {
    char name[longest_name];
    std::uint64_t size;
    void* object;
  };

  std::atomic<std::uint64_t> count{0};
  entry entries[most];
};

using process_anchor = std::atomic<process_directory*>;

/// The directory, once it was found.
inline constinit std::atomic<process_directory*> own_directory{nullptr};

/// The object of that name, for this version of the library, and size in the process; made, by
/// `make(memory)`, if there is none.
[[gnu::cold]] void* find_process_wide(std::string_view name, std::size_t size,
                                      void (*make)(void*) noexcept) noexcept;

/// The one T of the process. T() is constexpr and does not throw, T is never destroyed, and
/// T::process_name is its name.
template <class T>
class process_wide {
 public:
  static T& get() noexcept {
    static_cast<void>(&looked_up);  // makes it exist
    // [pw.own <] acquire: the object.
    T* const known = own.load(acquire);
    return known != nullptr ? *known : look_up();
  }

 private:
  static_assert(alignof(T) <= 64);

  THRUM_COLD static T& look_up() noexcept {
    auto* const found = static_cast<T*>(find_process_wide(
        T::process_name, sizeof(T), [](void* memory) noexcept { ::new (memory) T(); }));
#if THRUM_ASAN
    base::keep_reachable(found, sizeof(T));
#endif
    own.store(found, release);  // [pw.own >] release: the object
    return *found;
  }

  static inline constinit std::atomic<T*> own{nullptr};
  static inline const bool looked_up = (look_up(), true);
};

/// The function of whichever shared object was the first to bring one: a handler that each of them
/// would install, and that all of them must know.
template <class Function>
Function* first_in_process(std::atomic<Function*>& first,
                           std::type_identity_t<Function>* own) noexcept {
  Function* known = nullptr;
  // relaxed: a constant once set
  return first.compare_exchange_strong(known, own, relaxed, relaxed) ? own : known;
}

/// The category of errors of the first object that was loaded.
struct first_error_category {
  static constexpr std::string_view process_name = "base::error_category";
  std::atomic<const std::error_category*> category{nullptr};
};

[[gnu::cold]] void join_error_categories() noexcept;

inline const bool are_error_categories_joined = (join_error_categories(), true);

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/elf/process_wide_definition.hpp>
#endif

#endif  // THRUM_OS_ELF
#endif
