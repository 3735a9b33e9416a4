// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/memory.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_MEMORY_DEFINITION_HPP
#define THRUM_OS_POSIX_MEMORY_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_MACOS || THRUM_OS_FREEBSD

#include <thrum/os/posix/memory.hpp>

#include <cstddef>
#include <cstdint>

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

#endif  // THRUM_OS_MACOS || THRUM_OS_FREEBSD
#endif
