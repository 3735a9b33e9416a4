// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What Linux does for the calling thread in its own way: its name and number, its CPU, how it
// sleeps; and counting threads.
#ifndef THRUM_DETAIL_OS_LINUX_THIS_THREAD_HPP
#define THRUM_DETAIL_OS_LINUX_THIS_THREAD_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Names the calling thread for debuggers and ps; what is longer than 15 bytes is cut off.
void set_thread_name(const char* name) noexcept;

/// Asks the kernel that the calling thread, when it wakes, should not wait for others to use up
/// their time on a CPU. No privilege is needed, the share of CPU time stays the same. Without
/// effect before Linux 6.12.
void ask_for_short_waits() noexcept;

/// The CPU that the calling thread runs on; it may have left it by now. No system call.
std::uint32_t current_cpu() noexcept;

/// The kernel's number of the calling thread: unique in the system while the thread lives. A system
/// call. May be called from a signal handler.
std::uint64_t thread_id() noexcept;

/// Threads of this process, also those of others; 0 if the system does not say. No malloc.
std::size_t count_threads() noexcept;

/// Blocks the thread for ns nanoseconds, through any number of signals; at once when ns <= 0.
/// May be called from a signal handler.
THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/clock.hpp>

#include <cerrno>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void set_thread_name(const char* name) noexcept {
  constexpr std::size_t limit = 16;  // kernel: TASK_COMM_LEN, with the terminating zero
  char text[limit] = {};
  for (std::size_t i = 0; i + 1 < limit && name[i] != '\0'; ++i) {
    text[i] = name[i];
  }
  ::pthread_setname_np(::pthread_self(), text);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void ask_for_short_waits() noexcept {
  if constexpr (THRUM_TRIES_SYSTEM_CALLS == 0) {
    return;
  }
  struct {  // sched_attr, which the C library does not declare
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{};
  attributes.size = sizeof attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0 &&
      attributes.policy == SCHED_OTHER) {
    attributes.runtime = 100'000;  // ns of a slice: the shortest there is
    ::syscall(SYS_sched_setattr, 0, &attributes, 0);
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint32_t current_cpu() noexcept {
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? 0 : static_cast<std::uint32_t>(cpu);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint64_t thread_id() noexcept {
  return static_cast<std::uint64_t>(::syscall(SYS_gettid));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::size_t count_threads() noexcept {
  char text[4096];
  const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return 0;
  }
  const ssize_t length = ::read(fd, text, sizeof text);
  ::close(fd);
  const std::string_view status(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  constexpr std::string_view key = "\nThreads:\t";
  std::size_t n = 0;
  const std::size_t at = status.find(key);
  for (std::size_t i = at + key.size(); at != status.npos && i < status.size(); ++i) {
    if (status[i] < '0' || status[i] > '9') {
      break;
    }
    n = n * 10 + static_cast<std::size_t>(status[i] - '0');
  }
  return n;
}

THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept {
  if (ns <= 0) {
    return;
  }
  const ::timespec until = to_timespec(deadline_after(ns));
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_DETAIL_OS_LINUX_THIS_THREAD_HPP
