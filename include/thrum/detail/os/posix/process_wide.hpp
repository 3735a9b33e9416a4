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
//   While the object is loaded: each use of process_wide<T> that is compiled makes the loader
//   look it up (THRUM_AT_LOAD). So no thread waits for the loader's lock later, while it might hold a lock
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
#ifndef THRUM_DETAIL_OS_POSIX_PROCESS_WIDE_HPP
#define THRUM_DETAIL_OS_POSIX_PROCESS_WIDE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_ELF

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/sanitizer.hpp>  // IWYU pragma: keep: with LeakSanitizer

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
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
#if !THRUM_HAS_AT_LOAD
    static_cast<void>(&looked_up);  // makes it exist
#endif
    // [pw.own <] acquire: the object.
    T* const known = own.load(acquire);
    return known != nullptr ? *known : look_up();
  }

 private:
  static_assert(alignof(T) <= 64);

  THRUM_CALLED_AT_LOAD static void look_up_early() noexcept {
    if (own.load(acquire) == nullptr) {  // [pw.own <] acquire: the object.
      look_up();
    }
  }

  THRUM_COLD static T& look_up() noexcept {
    THRUM_AT_LOAD(&look_up_early);
    auto* const found = static_cast<T*>(find_process_wide(
        T::process_name, sizeof(T), [](void* memory) noexcept { ::new (memory) T(); }));
#if THRUM_ASAN
    base::keep_reachable(found, sizeof(T));
#endif
    own.store(found, release);  // [pw.own >] release: the object
    return *found;
  }

  static inline constinit std::atomic<T*> own{nullptr};
#if !THRUM_HAS_AT_LOAD
  static inline const bool looked_up = (look_up(), true);
#endif
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

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/os/memory.hpp>

#include <cstring>
#include <utility>

#include <link.h>

#if THRUM_SHARED_OBJECT
#include <dlfcn.h>
#endif

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// The object's note, and its anchor. In each translation unit that uses it; the first one counts.
THRUM_NOINLINE inline void leave_note() noexcept {
  asm volatile(
      ".pushsection .bss.thrum_anchor,\"aw\",%%nobits\n"
      ".balign 8\n"
      "771: .zero 8\n"
      ".popsection\n"
      ".pushsection .note.thrum,\"a\",%%note\n"
      ".balign 4\n"
      ".long 6, %c0, 0x7468\n"  // bytes of the name, bytes of what it says, type
      ".asciz \"thrum\"\n"
      ".balign 4\n"
      ".if %c0 == 8\n"
      ".quad 771b - .\n"
      ".else\n"
      ".long 771b - .\n"
      ".endif\n"
      ".popsection"
      :
      : "i"(sizeof(std::intptr_t)));
}

/// Calls f(anchor) for the anchors of all objects that are loaded.
template <class F>
void for_each_anchor(F& f) noexcept {
  ::dl_iterate_phdr(
      [](::dl_phdr_info* object, std::size_t, void* argument) {
        constexpr std::string_view own("thrum\0", 6);
        for (unsigned i = 0; i != object->dlpi_phnum; ++i) {
          const auto& part = object->dlpi_phdr[i];
          if (part.p_type != PT_NOTE) {
            continue;
          }
          const std::size_t unit = part.p_align == 8 ? 8 : 4;
          const auto up = [&](std::size_t n) { return (n + unit - 1) / unit * unit; };
          const char* at = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr);
          const char* const end = at + part.p_memsz;
          while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) head;
            std::memcpy(&head, at, sizeof head);
            const char* const name = at + sizeof head;
            const char* const says = at + up(sizeof head + head.n_namesz);
            if (std::string_view(name, head.n_namesz) == own && head.n_type == 0x7468 &&
                head.n_descsz == sizeof(std::intptr_t)) {
              std::intptr_t distance;
              std::memcpy(&distance, says, sizeof distance);
              const auto word =
                  reinterpret_cast<std::uintptr_t>(says) + static_cast<std::uintptr_t>(distance);
              (*static_cast<F*>(argument))(*reinterpret_cast<process_anchor*>(word));
            }
            at = says + up(head.n_descsz);
          }
        }
        return 0;
      },
      &f);
}

/// Finds the directory, or makes it. Null: no memory.
THRUM_COLD inline process_directory* find_directory() noexcept {
  leave_note();
  process_directory* found = nullptr;
  // The outer walk holds the loader's lock, and ends at once.
  ::dl_iterate_phdr(
      [](::dl_phdr_info*, std::size_t, void* result) {
        process_directory* directory = nullptr;
        auto look = [&](process_anchor& anchor) {
          if (directory == nullptr) {
            directory = anchor.load(relaxed);  // relaxed: under the loader's lock
          }
        };
        for_each_anchor(look);
        if (directory == nullptr) {
          if (void* const memory = map(sizeof(process_directory))) {
            directory = static_cast<process_directory*>(memory);
          }
        }
        auto set = [&](process_anchor& anchor) {
          anchor.store(directory, relaxed);  // relaxed: under the loader's lock
        };
        for_each_anchor(set);
        *static_cast<process_directory**>(result) = directory;
        return 1;
      },
      &found);
  return found;
}

/// Keeps the shared object that this is compiled into in memory.
THRUM_COLD inline void stay_loaded() noexcept {
#if THRUM_SHARED_OBJECT
  ::Dl_info own{};
  if (::dladdr(reinterpret_cast<void*>(&stay_loaded), &own) != 0) {
    ::dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
#endif
}

/// What is left of the page that small objects are put into: most of them are a few words long.
struct page_of_objects {
  static constexpr std::size_t size = 4096;
  static constexpr std::size_t alignment = 64;

  char* at = nullptr;
  std::size_t left = 0;

  /// Null: no memory. Under the loader's lock.
  void* take(std::size_t bytes) noexcept {
    const std::size_t used = (bytes + alignment - 1) / alignment * alignment;
    if (used > size / 2) {
      return map(bytes);
    }
    if (used > left) {
      void* const page = map(size);
      if (page == nullptr) {
        return nullptr;
      }
      at = static_cast<char*>(page);
      left = size;
    }
    left -= used;
    return std::exchange(at, at + used);
  }
};

inline constinit page_of_objects small_objects;

THRUM_COLD THRUM_OUT_OF_LINE void* find_process_wide(std::string_view name, std::size_t size,
                                                     void (*make)(void*) noexcept) noexcept {
  process_directory* directory = own_directory.load(acquire);  // [pw.own <] acquire: its entries
  if (directory == nullptr && (directory = find_directory()) != nullptr) {
    stay_loaded();
    own_directory.store(directory, release);  // [pw.own >] release: its entries
  }
  base::message<process_directory::longest_name> full_name(THRUM_TEXT_OF_VALUE(THRUM_ABI) ":");
  full_name.append(name);
  struct request {
    process_directory* directory;
    std::string_view name;
    std::size_t size;
    void (*make)(void*) noexcept;
    void* object;
  } own{directory, full_name.view(), size, make, nullptr};
  if (directory != nullptr) {
    ::dl_iterate_phdr(  // for its lock
        [](::dl_phdr_info*, std::size_t, void* argument) {
          auto& wanted = *static_cast<request*>(argument);
          process_directory& all = *wanted.directory;
          const std::uint64_t count = all.count.load(relaxed);  // relaxed: under the loader's lock
          for (std::uint64_t i = 0; i != count; ++i) {
            if (all.entries[i].size == wanted.size && wanted.name == all.entries[i].name) {
              wanted.object = all.entries[i].object;
              return 1;
            }
          }
          void* const memory = count != all.most ? small_objects.take(wanted.size) : nullptr;
          if (memory != nullptr) {
            wanted.make(memory);
            wanted.object = memory;
            auto& entry = all.entries[count];
            wanted.name.copy(entry.name, all.longest_name - 1);
            entry.size = wanted.size;
            entry.object = memory;
            all.count.store(count + 1, relaxed);  // relaxed: under the loader's lock
          }
          return 1;
        },
        &own);
  }
  if (own.object == nullptr) {
    base::fatal(
        "no memory for the library's process-wide state, which takes a few pages; raise the memory "
        "limit");
  }
  return own.object;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_ELF

#if THRUM_OS_MACOS

#include <thrum/detail/base/order.hpp>

#include <atomic>
#include <type_traits>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// What exists once in a process, where the linker makes one variable of all of a name: in every shared
// object that does not hide its symbols. Those that do have a library of their own each.

using namespace base::orders;

/// The one T of the process. T() does not throw, T is never destroyed. What needs code to be made is made
/// while the first shared object that uses it is loaded, or by its first use, if that is earlier.
template <class T>
class process_wide {
 public:
  [[gnu::visibility("default")]] static T& get() noexcept {
    if constexpr (is_constant<T>) {
      return own.object;
    } else {
      static_cast<void>(&made_early);  // makes it exist
      static place made;
      return made.object;
    }
  }

 private:
  template <class U>
  static constexpr bool is_constant = requires {
    typename std::bool_constant<(U(), true)>;
  };

  union place {  // never destroyed
    constexpr place() noexcept : object() {}
    ~place() {}
    T object;
  };
  [[gnu::visibility("default")]] static inline place own;
  static inline const bool made_early = (get(), true);
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

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_MACOS
#endif  // THRUM_DETAIL_OS_POSIX_PROCESS_WIDE_HPP
