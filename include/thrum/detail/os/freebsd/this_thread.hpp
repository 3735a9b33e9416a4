// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What FreeBSD does for the calling thread in its own way: its name and number, its CPU, how it sleeps.
#ifndef THRUM_DETAIL_OS_FREEBSD_THIS_THREAD_HPP
#define THRUM_DETAIL_OS_FREEBSD_THIS_THREAD_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_FREEBSD

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Names the calling thread for debuggers and ps, cut to 19 bytes.
void set_thread_name(const char* name) noexcept;

/// Does nothing: no such wish is known to the system.
inline void ask_for_short_waits() noexcept {}

/// The CPU that the calling thread runs on; it may have left it by now.
std::uint32_t current_cpu() noexcept;

/// The kernel's number of the calling thread: unique in the system while the thread lives. May be
/// called from a signal handler.
std::uint64_t thread_id() noexcept;

/// 0: the system does not say without reading much, and not how many are its own.
inline std::size_t count_threads() noexcept { return 0; }

/// Blocks the thread for ns nanoseconds, through any number of signals; at once when ns <= 0.
/// May be called from a signal handler.
void sleep_ns(std::int64_t ns) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/posix/clock.hpp>

#include <cerrno>
#include <ctime>

#include <pthread.h>
#include <pthread_np.h>
#include <sched.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void set_thread_name(const char* name) noexcept {
  ::pthread_setname_np(::pthread_self(), name);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint32_t current_cpu() noexcept {
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? 0 : static_cast<std::uint32_t>(cpu);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint64_t thread_id() noexcept {
  return static_cast<std::uint64_t>(::pthread_getthreadid_np());
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept {
  if (ns <= 0) {
    return;
  }
  const int before = errno;
  const ::timespec until = to_timespec(deadline_after(ns));
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
  errno = before;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_DETAIL_OS_FREEBSD_THIS_THREAD_HPP
