// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/thread_clock.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_THREAD_CLOCK_DEFINITION_HPP
#define THRUM_OS_LINUX_THREAD_CLOCK_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/base/message.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/linux/thread_clock.hpp>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_OUT_OF_LINE void thread_clock::open() noexcept {
  ::clockid_t own{};
  const bool known = ::pthread_getcpuclockid(::pthread_self(), &own) == 0;
  clock_.store(known ? own : unknown, relaxed);  // relaxed: a number that needs nothing else
}

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

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_sleeps(std::uint64_t thread) noexcept {
  char buffer[256];
  // "number (name) state ...", where the name may hold anything.
  const std::string_view stat = about_thread(thread, "/stat", buffer);
  const std::size_t at = stat.rfind(") ");
  return at == stat.npos || at + 2 >= stat.size() || stat[at + 2] != 'R';
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_naps(std::uint64_t thread) noexcept {
  char buffer[256];
  const std::string_view call = about_thread(thread, "/syscall", buffer);
  // The last is the second with 64 bits of seconds, on processors of 32 bits.
  constexpr long clock_nanosleep_time64 = sizeof(long) == 4 ? 407 : SYS_clock_nanosleep;
  for (const long number :
       {long{SYS_nanosleep}, long{SYS_clock_nanosleep}, clock_nanosleep_time64}) {
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
#endif
