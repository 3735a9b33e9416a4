// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What exists once in a process, though several of its libraries (DLLs) hold this one.
//
// The linker joins inline variables within a program or a library, and the loader never does. So each of
// them carries an anchor, a word in a section of its own that needs no symbol to be found. What is used
// first looks through all that is loaded for an anchor that is set; if there is none, it makes the
// directory. The directory knows objects by a name, which holds THRUM_ABI, and by their size, so that
// two versions of the library stay apart; the form of anchor and directory never changes.
//
// That is done while the library is loaded, one at a time. A program or DLL that holds the library stays
// in memory: the directory may have addresses of its functions.
//
// Rejected: a section of memory with a name, which any process of the user's session could have made
// before; an exported variable, since mingw then exports nothing else of the library.
#ifndef THRUM_DETAIL_OS_WINDOWS_PROCESS_WIDE_HPP
#define THRUM_DETAIL_OS_WINDOWS_PROCESS_WIDE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/order.hpp>

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

  std::atomic<bool> locked{false};
  std::uint64_t count = 0;
  entry entries[most];
};

/// How a program or a library says where the directory is.
struct alignas(16) process_anchor {
  static constexpr std::uint64_t right = 0x74'68'72'75'6d'20'61'2e;
  std::uint64_t mark = right;
  std::atomic<process_directory*> directory{nullptr};
};
static_assert(sizeof(process_anchor) == 16);

[[gnu::section(".thrum"), gnu::used]] inline constinit process_anchor own_anchor;

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
  THRUM_COLD static T& look_up() noexcept {
    auto* const found = static_cast<T*>(find_process_wide(
        T::process_name, sizeof(T), [](void* memory) noexcept { ::new (memory) T(); }));
    own.store(found, release);  // [pw.own >] release: the object
    return *found;
  }

  static inline constinit std::atomic<T*> own{nullptr};
  static inline const bool looked_up = (look_up(), true);
};

/// The function of whichever library was the first to bring one: a handler that each of them would
/// install, and that all of them must know.
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
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/memory.hpp>

#include <cstring>

#include <psapi.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// What the anchors of one program or library know; null if it has none, or they are not set.
THRUM_OUT_OF_LINE process_directory* directory_of(::HMODULE module) noexcept {
  const auto* const begin = reinterpret_cast<const char*>(module);
  const auto* const old = reinterpret_cast<const ::IMAGE_DOS_HEADER*>(begin);
  const auto* const head = reinterpret_cast<const ::IMAGE_NT_HEADERS*>(begin + old->e_lfanew);
  const ::IMAGE_SECTION_HEADER* section = IMAGE_FIRST_SECTION(head);
  constexpr char wanted[IMAGE_SIZEOF_SHORT_NAME] = {'.', 't', 'h', 'r', 'u', 'm'};
  for (unsigned i = 0; i != head->FileHeader.NumberOfSections; ++i, ++section) {
    if (std::memcmp(section->Name, wanted, sizeof wanted) != 0) {
      continue;
    }
    const auto* const first =
        reinterpret_cast<const process_anchor*>(begin + section->VirtualAddress);
    const std::size_t count = section->Misc.VirtualSize / sizeof(process_anchor);
    for (std::size_t n = 0; n != count; ++n) {
      if (first[n].mark == process_anchor::right) {
        // [pw.anchor <] acquire: what is in the directory
        process_directory* const found = first[n].directory.load(acquire);
        if (found != nullptr) {
          return found;
        }
      }
    }
  }
  return nullptr;
}

THRUM_COLD THRUM_OUT_OF_LINE process_directory& find_directory() noexcept {
  // [pw.anchor <] acquire: what is in the directory
  process_directory* found = own_anchor.directory.load(acquire);
  if (found != nullptr) {
    return *found;
  }
  constexpr std::size_t most_modules = 4096;
  ::HMODULE modules[most_modules];
  ::DWORD bytes = 0;
  if (::K32EnumProcessModules(::GetCurrentProcess(), modules, sizeof modules, &bytes) == 0) {
    bytes = 0;
  }
  for (std::size_t i = 0; found == nullptr && i != most_modules && i * sizeof(::HMODULE) < bytes;
       ++i) {
    found = directory_of(modules[i]);
  }
  if (found == nullptr) {
    void* const memory = map(sizeof(process_directory));
    if (memory == nullptr) {
      base::fatal(
          "no memory for the library's process-wide state, which takes a few pages; raise the "
          "memory limit");
    }
    found = ::new (memory) process_directory;
  }
  ::HMODULE own = nullptr;
  ::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                       reinterpret_cast<const wchar_t*>(&own_anchor), &own);
  own_anchor.directory.store(found, release);  // [pw.anchor >] release: what is in the directory
  return *found;
}

THRUM_COLD THRUM_OUT_OF_LINE void* find_process_wide(std::string_view name, std::size_t size,
                                                     void (*make)(void*) noexcept) noexcept {
  base::message<process_directory::longest_name> full_name(THRUM_TEXT_OF_VALUE(THRUM_ABI) ":");
  full_name.append(name);
  process_directory& all = find_directory();
  while (all.locked.exchange(true, acquire)) {  // [pw.lock <] acquire: the entries
    ::SwitchToThread();
  }
  void* object = nullptr;
  for (std::uint64_t i = 0; object == nullptr && i != all.count; ++i) {
    if (all.entries[i].size == size && full_name.view() == all.entries[i].name) {
      object = all.entries[i].object;
    }
  }
  if (object == nullptr) {
    object = map(size);
    if (object == nullptr || all.count == all.most) {
      base::fatal(
          "no memory for the library's process-wide state, which takes a few pages; raise the "
          "memory limit");
    }
    make(object);
    auto& entry = all.entries[all.count++];
    full_name.view().copy(entry.name, all.longest_name - 1);
    entry.size = size;
    entry.object = object;
  }
  all.locked.store(false, release);  // [pw.lock >] release: the entries
  return object;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_PROCESS_WIDE_HPP
