// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many processors the program may use on Linux: the affinity mask, then the quota of its
// control groups, which cgroup.hpp reads.
#ifndef THRUM_DETAIL_OS_LINUX_PROCESSORS_HPP
#define THRUM_DETAIL_OS_LINUX_PROCESSORS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Processors in the affinity mask of the calling thread, at least 1.
unsigned affinity_processors() noexcept;

/// Processors that the program may use: the affinity mask of the calling thread, or the quota of
/// its control groups rounded up where that is less; at least 1. Reads files: for the start of a
/// scheduler.
unsigned available_processors() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/linux/cgroup.hpp>
#include <thrum/detail/os/linux/memory.hpp>

#include <bit>
#include <cstddef>
#include <string_view>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Reads a file from its beginning until the buffer is full; the number of bytes, or -1.
inline std::ptrdiff_t read_small_file(std::string_view path, char* buffer,
                                      std::size_t size) noexcept {
  file_path name(path);
  name.append(std::string_view("\0", 1));
  const int fd = ::open(name.view().data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return -1;
  }
  std::size_t length = 0;
  while (length < size) {
    const ssize_t got = ::read(fd, buffer + length, size - length);
    if (got <= 0) {
      break;
    }
    length += static_cast<std::size_t>(got);
  }
  ::close(fd);
  return static_cast<std::ptrdiff_t>(length);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE unsigned affinity_processors() noexcept {
  constexpr std::size_t mask_words = 128;  // 8,192 processors: the kernel's largest NR_CPUS
  unsigned long mask[mask_words] = {};
  const long bytes = ::syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
  unsigned count = 0;
  for (std::size_t i = 0; bytes > 0 && i < mask_words; ++i) {
    count += static_cast<unsigned>(std::popcount(mask[i]));
  }
  return count == 0 ? 1 : count;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE unsigned available_processors() noexcept {
  constexpr std::size_t text_size = std::size_t{1} << 20;  // mountinfo of a busy container host
  unsigned quota = 0;
  if (char* const texts = static_cast<char*>(map(2 * text_size)); texts != nullptr) {
    const std::ptrdiff_t cgroup = read_small_file("/proc/self/cgroup", texts, text_size);
    const std::ptrdiff_t mounts =
        read_small_file("/proc/self/mountinfo", texts + text_size, text_size);
    if (cgroup > 0 && mounts > 0) {
      quota = cgroup_quota({texts, static_cast<std::size_t>(cgroup)},
                           {texts + text_size, static_cast<std::size_t>(mounts)}, read_small_file);
    }
    unmap(texts, 2 * text_size);
  }
  return tighter_limit(affinity_processors(), quota);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_DETAIL_OS_LINUX_PROCESSORS_HPP
