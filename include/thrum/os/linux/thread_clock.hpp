// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Whether another thread computes or waits, on Linux.
#ifndef THRUM_OS_LINUX_THREAD_CLOCK_HPP
#define THRUM_OS_LINUX_THREAD_CLOCK_HPP

#include <atomic>
#include <climits>
#include <cstdint>

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/order.hpp>

#if THRUM_OS_LINUX

#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// The CPU time of a thread, readable by any other.
class thread_clock {
 public:
  /// The calling thread's. Others may read the one of an earlier thread meanwhile.
  void open() noexcept {
    ::clockid_t own{};
    const bool known = ::pthread_getcpuclockid(::pthread_self(), &own) == 0;
    clock_.store(known ? own : unknown, relaxed);  // relaxed: a number that needs nothing else
  }

  /// Nanoseconds of CPU time so far, 0 if the thread has ended or the system does not say. About
  /// 300 ns. No malloc, no lock.
  std::int64_t now() const noexcept {
    ::timespec t{};
    const ::clockid_t clock = clock_.load(relaxed);  // relaxed: see open
    if (clock == unknown || ::clock_gettime(clock, &t) != 0) {
      return 0;
    }
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }

 private:
  static constexpr ::clockid_t unknown = INT_MAX;
  std::atomic<::clockid_t> clock_{unknown};
};

/// The text of a file that the system keeps for each thread, as much as `buffer` takes; empty where
/// there is none. Some 10 us; no malloc, no lock.
THRUM_NOINLINE inline std::string_view about_thread(std::uint64_t thread, std::string_view file,
                                                    char (&buffer)[256]) noexcept {
  base::message<64> path("/proc/self/task/");
  path.append(thread).append(file).append(std::string_view("\0", 1));
  const int fd = ::open(path.view().data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return {};
  }
  const ssize_t length = ::read(fd, buffer, sizeof buffer);
  ::close(fd);
  return {buffer, length > 0 ? static_cast<std::size_t>(length) : 0};
}

/// Whether the thread sleeps in the kernel, as opposed to running or waiting for a CPU. True also
/// where the system does not say.
THRUM_NOINLINE inline bool thread_sleeps(std::uint64_t thread) noexcept {
  char buffer[256];
  // "number (name) state ...", where the name may hold anything.
  const std::string_view stat = about_thread(thread, "/stat", buffer);
  const std::size_t at = stat.rfind(") ");
  return at == stat.npos || at + 2 >= stat.size() || stat[at + 2] != 'R';
}

/// Whether it does so for a time that it has chosen, and not for somebody. False where the system
/// does not say.
THRUM_NOINLINE inline bool thread_naps(std::uint64_t thread) noexcept {
  char buffer[256];
  const std::string_view call = about_thread(thread, "/syscall", buffer);
  for (const auto number : {SYS_nanosleep, SYS_clock_nanosleep}) {
    base::message<32> wanted;
    wanted.append(static_cast<std::uint64_t>(number)).append(" ");
    if (call.substr(0, wanted.view().size()) == wanted.view()) {
      return true;
    }
  }
  return false;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_THREAD_CLOCK_HPP
