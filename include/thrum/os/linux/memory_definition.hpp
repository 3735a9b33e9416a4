// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/memory.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_MEMORY_DEFINITION_HPP
#define THRUM_OS_LINUX_MEMORY_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/base/order.hpp>
#include <thrum/os/linux/memory.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_NOINLINE THRUM_OUT_OF_LINE void* map(std::size_t bytes) noexcept {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
  const std::size_t mapped = bytes + alignment;
  void* const memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  char* const begin = static_cast<char*>(memory);
  const std::size_t misplaced = reinterpret_cast<std::uintptr_t>(begin) & (alignment - 1);
  const std::size_t before = misplaced == 0 ? 0 : alignment - misplaced;
  char* const slab = begin + before;
  if (before != 0) {
    ::munmap(begin, before);
  }
  if (alignment != before) {
    ::munmap(slab + bytes, alignment - before);
  }
  // Refused by kernels that have no huge pages, which is as good.
  ::madvise(slab, bytes, MADV_NOHUGEPAGE);
  return slab;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void discard_now(void* memory, std::size_t bytes) noexcept {
  ::madvise(memory, bytes, MADV_DONTNEED);
}

THRUM_COLD THRUM_OUT_OF_LINE bool probe_guard_support() noexcept {
  const std::size_t page = page_size();
  void* const memory = map(page);
  if (memory == nullptr) {
    return false;
  }
  const bool works = ::madvise(memory, page, advice_guard_install) == 0 &&
                     ::madvise(memory, page, advice_populate_read) != 0;
  unmap(memory, page);
  // relaxed: a word that depends on nothing; a thread that does not see it probes again
  guard_support.store(works ? guard_support_state::yes : guard_support_state::no, relaxed);
  return works;
}

THRUM_COLD THRUM_OUT_OF_LINE std::size_t read_mprotect_guard_limit() noexcept {
  std::size_t mappings = 0;
  const int fd = ::open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    char text[24];
    const ssize_t length = ::read(fd, text, sizeof text);
    for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; ++i) {
      mappings = mappings * 10 + static_cast<std::size_t>(text[i] - '0');
    }
    ::close(fd);
  }
  constexpr std::size_t kernel_default = 65'530;
  const std::size_t limit = (mappings != 0 ? mappings : kernel_default) / 4;
  mprotect_guard_limit.store(limit, relaxed);  // relaxed: a thread that misses it reads the file
  return limit;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE guard_result install_guard(void* memory,
                                                            std::size_t bytes) noexcept {
  if (has_cheap_guards() && ::madvise(memory, bytes, advice_guard_install) == 0) {
    return guard_kind::madvise;
  }
  if (!take_guard_budget()) {
    return guard_kind::none;
  }
  if (::mprotect(memory, bytes, PROT_NONE) != 0) {
    return_guard_budget(1);
    return guard_kind::none;
  }
  return guard_kind::mprotect;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void return_foreign(void* memory, std::size_t, std::size_t guarded,
                                                     guard_kind guard) noexcept {
  if (guard == guard_kind::madvise) {
    ::madvise(memory, guarded, advice_guard_remove);
  } else if (guard == guard_kind::mprotect) {
    ::mprotect(memory, guarded, PROT_READ | PROT_WRITE);
    return_guard_budget(1);
  }
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
