// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Memory by what POSIX has: mappings, slabs of stacks, guards by mprotect.
#ifndef THRUM_DETAIL_OS_POSIX_MEMORY_HPP
#define THRUM_DETAIL_OS_POSIX_MEMORY_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_MACOS || THRUM_OS_FREEBSD

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a start function returns when map() or map_stacks() gave nullptr.
inline constexpr int out_of_memory = ENOMEM;

/// Bytes of a page: the grain of everything in this file.
THRUM_NOINLINE inline std::size_t page_size() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// New zeroed memory, readable and writable; nullptr when there is none. No lock, no malloc: may be
/// called from a signal handler that saves errno.
void* map(std::size_t bytes) noexcept;

/// Gives a mapping back, or a part of one that begins and ends at a page. Guards inside vanish.
void unmap(void* memory, std::size_t bytes) noexcept;

/// A slab for stacks, aligned to `alignment` (a power of two, at least a page). nullptr when there
/// is no address space.
void* map_stacks(std::size_t bytes, std::size_t alignment) noexcept;

/// Gives the contents of whole pages back: they leave the resident set, and read as zeros.
void discard_now(void* memory, std::size_t bytes) noexcept;

/// How a guard was made.
enum class guard_kind : std::uint8_t {
  mprotect,  ///< by a mapping of its own, of which these systems have as many as there is memory
  none,      ///< there is no guard: an overflow is not caught
};

/// There is no budget.
inline void return_guard_budget(std::size_t) noexcept {}

/// Makes whole pages inaccessible until they are unmapped.
guard_kind install_guard(void* memory, std::size_t bytes) noexcept;

/// Calls install_guard() for memory that the user has mapped. The guard lasts until return_foreign().
inline guard_kind guard_foreign(void* memory, std::size_t bytes) noexcept {
  return install_guard(memory, bytes);
}

/// Makes such memory readable and writable again, whose first `guarded` bytes are the guard.
void return_foreign(void* memory, std::size_t bytes, std::size_t guarded,
                    guard_kind guard) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <sys/mman.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void* map(std::size_t bytes) noexcept {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void unmap(void* memory, std::size_t bytes) noexcept {
  ::munmap(memory, bytes);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void* map_stacks(std::size_t bytes,
                                                  std::size_t alignment) noexcept {
  if (bytes > SIZE_MAX - alignment) {
    return nullptr;
  }
  char* const begin = static_cast<char*>(map(bytes + alignment));
  if (begin == nullptr) {
    return nullptr;
  }
  const std::size_t misplaced = reinterpret_cast<std::uintptr_t>(begin) & (alignment - 1);
  const std::size_t before = misplaced == 0 ? 0 : alignment - misplaced;
  char* const slab = begin + before;
  if (before != 0) {
    ::munmap(begin, before);
  }
  if (alignment != before) {
    ::munmap(slab + bytes, alignment - before);
  }
  return slab;
}

/// New pages in the place of the old ones: advice is no order on these systems.
THRUM_NOINLINE THRUM_OUT_OF_LINE void discard_now(void* memory, std::size_t bytes) noexcept {
  ::mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE guard_kind install_guard(void* memory,
                                                          std::size_t bytes) noexcept {
  return ::mprotect(memory, bytes, PROT_NONE) == 0 ? guard_kind::mprotect : guard_kind::none;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void return_foreign(void* memory, std::size_t, std::size_t guarded,
                                                     guard_kind guard) noexcept {
  if (guard == guard_kind::mprotect) {
    ::mprotect(memory, guarded, PROT_READ | PROT_WRITE);
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_MACOS || THRUM_OS_FREEBSD
#endif  // THRUM_DETAIL_OS_POSIX_MEMORY_HPP
