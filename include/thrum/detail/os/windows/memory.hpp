// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Memory: mappings, and stacks that are reserved at first and grow.
//
// The system counts what is committed, and not what is touched, against its limit. So a slab of stacks
// is reserved only, and open_stack() commits the top page of one and a guard below it. When the guard
// is touched the system takes the mark off, commits the next page as the new guard, and says so in the
// thread's block (TEB), which a switch keeps with the stack (arch/x86_64_win64.hpp). At the last page
// it raises EXCEPTION_STACK_OVERFLOW.
#ifndef THRUM_DETAIL_OS_WINDOWS_MEMORY_HPP
#define THRUM_DETAIL_OS_WINDOWS_MEMORY_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a start function returns when map() or map_stacks() gave nullptr: ERROR_NOT_ENOUGH_MEMORY.
inline constexpr int out_of_memory = 8;

/// Bytes of a page: the grain of what is committed.
std::size_t page_size() noexcept;

/// New zeroed memory, readable and writable; nullptr when there is none.
void* map(std::size_t bytes) noexcept;

/// Gives a mapping back, or a part of one that begins and ends at a page. Of a part the addresses stay
/// reserved: the system gives those back for the whole only.
void unmap(void* memory, std::size_t bytes) noexcept;

/// Address space for stacks, aligned to `alignment` (a power of two, at least a page), of which nothing
/// but the first page can be touched before open_stack(). nullptr when there is none.
void* map_stacks(std::size_t bytes, std::size_t alignment) noexcept;

/// Makes the stack below `top`, which ends a page of a slab, usable. Returns the lowest usable address
/// at this moment, for prepare_stack(). nullptr when there is no memory. The stack grows down to the
/// lowest address that prepare_stack() gets, by four pages at least.
void* open_stack(void* top) noexcept;

/// Down to where a goroutine's stack can be touched. Runs of several goroutines use one stack, each from
/// where the one before it has left the guard.
class stack_extent {
 public:
  /// Makes the stack from `low` up to `top`, not inside of a page, usable; false when there is no memory.
  bool open(char* low, char* top) noexcept;

  /// Lies above `low`.
  const void* limit(const char*) const noexcept { return limit_; }

  /// Makes it usable down to `at`, for another thread that writes there; false when there is no memory,
  /// or no such place.
  bool reach(char* low, char* at) noexcept { return at >= limit_ || extend(low, at); }

  /// It has grown down to there.
  void note_limit(const void* limit) noexcept { limit_ = limit; }

  /// The pages from `low` up to `end`, where one begins, are not needed any more. What the stack is to
  /// begin with is committed again; if there is no memory for it, nothing is given back.
  void shrink(char* low, char* end) noexcept;

 private:
  bool extend(char* low, char* at) noexcept;

  const void* limit_ = nullptr;
};

/// Gives the contents of whole pages that are committed back: they leave the resident set, and read as
/// zeros.
void discard_now(void* memory, std::size_t bytes) noexcept;

/// How a guard was made.
enum class guard_kind : std::uint8_t {
  mprotect,  ///< by pages that are not committed, or refuse access, as many as there are addresses
  none,      ///< there is no guard: an overflow is not caught
};

/// There is no budget.
inline void return_guard_budget(std::size_t) noexcept {}

/// Makes whole pages inaccessible until they are unmapped.
guard_kind install_guard(void* memory, std::size_t bytes) noexcept;

/// Makes whole pages of a user's memory inaccessible until return_foreign(). They stay committed.
guard_kind guard_foreign(void* memory, std::size_t bytes) noexcept;

/// Makes such memory readable and writable again: the guard, and the pages of a stack_extent that was opened
/// in it, which marks pages that are committed already.
void return_foreign(void* memory, std::size_t bytes, std::size_t guarded,
                    guard_kind guard) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>

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
  // another thread may have taken it meanwhile.
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
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_MEMORY_HPP
