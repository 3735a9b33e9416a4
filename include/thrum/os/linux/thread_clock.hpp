// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Whether another thread computes or waits, on Linux.
#ifndef THRUM_OS_LINUX_THREAD_CLOCK_HPP
#define THRUM_OS_LINUX_THREAD_CLOCK_HPP

#include <cstdint>

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>

#if THRUM_OS_LINUX

#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace thrum::inline THRUM_ABI::os {

/// The CPU time of a thread, readable by any other.
class thread_clock {
 public:
  /// The calling thread's.
  void open() noexcept { known_ = ::pthread_getcpuclockid(::pthread_self(), &clock_) == 0; }

  /// Nanoseconds of CPU time so far, 0 if the thread has ended or the system does not say. About
  /// 300 ns. No malloc, no lock.
  std::int64_t now() const noexcept {
    ::timespec t{};
    if (!known_ || ::clock_gettime(clock_, &t) != 0) {
      return 0;
    }
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }

 private:
  ::clockid_t clock_{};
  bool known_ = false;
};

/// Whether the thread sleeps in the kernel, as opposed to running or waiting for a CPU. True also
/// where the system does not say. Some 10 us; no malloc, no lock.
THRUM_NOINLINE inline bool thread_sleeps(std::uint64_t thread) noexcept {
  base::message<64> path("/proc/self/task/");
  path.append(thread).append("/stat").append(std::string_view("\0", 1));
  const int fd = ::open(path.view().data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return true;
  }
  char text[256];
  const ssize_t length = ::read(fd, text, sizeof text);
  ::close(fd);
  // "number (name) state ...", where the name may hold anything.
  const std::string_view stat(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t at = stat.rfind(") ");
  return at == stat.npos || at + 2 >= stat.size() || stat[at + 2] != 'R';
}

}  // namespace thrum::inline THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_THREAD_CLOCK_HPP
