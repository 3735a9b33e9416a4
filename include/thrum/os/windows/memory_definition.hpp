// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/memory.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_WINDOWS_MEMORY_DEFINITION_HPP
#define THRUM_OS_WINDOWS_MEMORY_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/memory.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE std::size_t page_size() noexcept {
  ::SYSTEM_INFO info;
  ::GetSystemInfo(&info);
  return info.dwPageSize;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void* map(std::size_t bytes) noexcept {
  return ::VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

/// Whether this is all that was reserved by one call, which takes whole pages.
THRUM_OUT_OF_LINE bool is_whole_mapping(const void* memory, std::size_t bytes) noexcept {
  const auto* const begin = static_cast<const char*>(memory);
  const char* at = begin;
  ::MEMORY_BASIC_INFORMATION found;
  while (::VirtualQuery(at, &found, sizeof found) != 0 && found.AllocationBase == memory) {
    at = static_cast<const char*>(found.BaseAddress) + found.RegionSize;
  }
  const std::size_t page = page_size();
  const std::size_t of_pages = (bytes + page - 1) / page * page;
  return at != begin && static_cast<std::size_t>(at - begin) <= of_pages;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void unmap(void* memory, std::size_t bytes) noexcept {
  if (is_whole_mapping(memory, bytes)) {
    ::VirtualFree(memory, 0, MEM_RELEASE);
  } else {
    ::VirtualFree(memory, bytes, MEM_DECOMMIT);
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void* map_stacks(std::size_t bytes,
                                                  std::size_t alignment) noexcept {
  if (bytes > SIZE_MAX - alignment) {
    return nullptr;
  }
  // A part of a reservation cannot be given back. So a place is looked for, given back, and asked for;
  // somebody else may have taken it meanwhile.
  constexpr int most_tries = 16;
  for (int i = 0; i != most_tries; ++i) {
    void* const place = ::VirtualAlloc(nullptr, bytes + alignment, MEM_RESERVE, PAGE_READWRITE);
    if (place == nullptr) {
      return nullptr;
    }
    ::VirtualFree(place, 0, MEM_RELEASE);
    const auto aligned =
        (reinterpret_cast<std::uintptr_t>(place) + alignment - 1) & ~(alignment - 1);
    void* const slab =
        ::VirtualAlloc(reinterpret_cast<void*>(aligned), bytes, MEM_RESERVE, PAGE_READWRITE);
    if (slab != nullptr) {
      if (::VirtualAlloc(slab, page_size(), MEM_COMMIT, PAGE_READWRITE) != nullptr) {
        return slab;
      }
      ::VirtualFree(slab, 0, MEM_RELEASE);
      return nullptr;
    }
  }
  return nullptr;
}

/// Below `limit`, from now on.
inline bool make_guard(char* limit, std::size_t page) noexcept {
  ::DWORD before = 0;
  return ::VirtualAlloc(limit - page, page, MEM_COMMIT, PAGE_READWRITE) != nullptr &&
         ::VirtualProtect(limit - page, page, PAGE_READWRITE | PAGE_GUARD, &before) != 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void* open_stack(void* top) noexcept {
  const std::size_t page = page_size();
  char* const limit = static_cast<char*>(top) - page;
  return ::VirtualAlloc(limit, page, MEM_COMMIT, PAGE_READWRITE) != nullptr &&
                 make_guard(limit, page)
             ? limit
             : nullptr;
}

/// Where the page ends that holds the byte below `top`.
inline char* end_of_page(char* top) noexcept {
  const std::size_t page = page_size();
  return top + ((page - reinterpret_cast<std::uintptr_t>(top) % page) % page);
}

THRUM_OUT_OF_LINE bool stack_extent::open(char*, char* top) noexcept {
  limit_ = open_stack(end_of_page(top));
  return limit_ != nullptr;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool stack_extent::extend(char* low, char* at) noexcept {
  const std::size_t page = page_size();
  char* const limit = end_of_page(at) - page;
  const auto* const old = static_cast<const char*>(limit_);
  const auto fresh = static_cast<std::size_t>(old - limit);
  ::DWORD before = 0;
  if (limit - low < static_cast<std::ptrdiff_t>(page) ||
      ::VirtualAlloc(limit, fresh, MEM_COMMIT, PAGE_READWRITE) == nullptr ||
      ::VirtualProtect(limit, fresh, PAGE_READWRITE, &before) == 0 || !make_guard(limit, page)) {
    return false;
  }
  limit_ = limit;
  return true;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void stack_extent::shrink(char* low, char* end) noexcept {
  const std::size_t page = page_size();
  if (end - low < static_cast<std::ptrdiff_t>(2 * page)) {
    return;
  }
  if (!make_guard(end, page)) {
    return;
  }
  ::VirtualFree(low, static_cast<std::size_t>(end - page - low), MEM_DECOMMIT);
  limit_ = end;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void discard_now(void* memory, std::size_t bytes) noexcept {
  ::VirtualFree(memory, bytes, MEM_DECOMMIT);
  ::VirtualAlloc(memory, bytes, MEM_COMMIT, PAGE_READWRITE);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE guard_kind install_guard(void* memory,
                                                          std::size_t bytes) noexcept {
  return ::VirtualFree(memory, bytes, MEM_DECOMMIT) != 0 ? guard_kind::mprotect : guard_kind::none;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE guard_kind guard_foreign(void* memory,
                                                          std::size_t bytes) noexcept {
  ::DWORD before = 0;
  return ::VirtualProtect(memory, bytes, PAGE_NOACCESS, &before) != 0 ? guard_kind::mprotect
                                                                      : guard_kind::none;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void return_foreign(void* memory, std::size_t bytes, std::size_t,
                                                     guard_kind) noexcept {
  ::DWORD before = 0;
  ::VirtualProtect(memory, bytes, PAGE_READWRITE, &before);
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif
