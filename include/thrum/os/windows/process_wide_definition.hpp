// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/process_wide.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_WINDOWS_PROCESS_WIDE_DEFINITION_HPP
#define THRUM_OS_WINDOWS_PROCESS_WIDE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/base/fatal.hpp>
#include <thrum/base/message.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/memory.hpp>
#include <thrum/os/windows/process_wide.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

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
      base::fatal("no memory for what is there once in a process");
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
      base::fatal("no memory for what is there once in a process");
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

#endif  // THRUM_OS_WINDOWS
#endif
