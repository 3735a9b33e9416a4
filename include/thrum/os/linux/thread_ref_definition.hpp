// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/thread_ref.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_THREAD_REF_DEFINITION_HPP
#define THRUM_OS_LINUX_THREAD_REF_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/base/message.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/answers.hpp>
#include <thrum/os/linux/signal_value.hpp>
#include <thrum/os/linux/this_thread.hpp>
#include <thrum/os/linux/thread_ref.hpp>
#include <thrum/os/posix/preempt_signal.hpp>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_ref::open() noexcept {
  ::clockid_t own{};
  const bool known = ::pthread_getcpuclockid(::pthread_self(), &own) == 0;
  tid_.store(thread_id(), relaxed);              // relaxed: a number that needs nothing else
  clock_.store(known ? own : unknown, relaxed);  // relaxed: a number that needs nothing else
}

THRUM_OUT_OF_LINE bool thread_ref::is_calling_thread() const noexcept {
  return tid_.load(relaxed) == thread_id();  // relaxed: this thread's own, or not this thread's
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

THRUM_NOINLINE THRUM_OUT_OF_LINE thread_look thread_ref::look() const noexcept {
  const std::uint64_t thread = tid_.load(relaxed);  // relaxed: a guess is enough
  if (thread == 0) {
    return thread_look::in_system;
  }
  char buffer[256];
  // "number (name) state ...", where the name may hold anything.
  const std::string_view stat = about_thread(thread, "/stat", buffer);
  const std::size_t at = stat.rfind(") ");
  if (at == stat.npos || at + 2 >= stat.size()) {
    return thread_look::unknown;
  }
  if (stat[at + 2] == 'R') {
    return thread_look::computes;
  }
  // "-1" in place of the number of a call, "running" if it is back.
  const std::string_view call = about_thread(thread, "/syscall", buffer);
  return call.starts_with("-1 ")       ? thread_look::in_fault
         : call.starts_with("running") ? thread_look::computes
                                       : thread_look::in_system;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_ref::naps() const noexcept {
  char buffer[256];
  // relaxed: a guess is enough
  const std::string_view call = about_thread(tid_.load(relaxed), "/syscall", buffer);
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

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_ref::interrupt(preempt_target& target) const noexcept {
  const auto to = static_cast<::pid_t>(tid_.load(relaxed));  // relaxed: a guess is enough
  if (to == 0) {
    return false;
  }
  ::siginfo_t info{};
  info.si_signo = preempt_signal;
  info.si_code = preempt_code;
  info.si_value.sival_ptr = &target;
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), to, preempt_signal, &info) == 0) {
    return true;
  }
  if (!target.is_to_be_sent() || ::syscall(SYS_tgkill, ::getpid(), to, preempt_signal) == 0) {
    return true;
  }
  target.unmarked.store(false, relaxed);  // relaxed: there is no signal that it could order
  return false;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
