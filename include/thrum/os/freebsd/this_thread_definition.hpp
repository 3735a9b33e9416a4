// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/freebsd/this_thread.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_FREEBSD_THIS_THREAD_DEFINITION_HPP
#define THRUM_OS_FREEBSD_THIS_THREAD_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_FREEBSD

#include <thrum/os/freebsd/this_thread.hpp>
#include <thrum/os/posix/clock.hpp>

#include <cerrno>
#include <cstdint>
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

#endif  // THRUM_OS_FREEBSD
#endif
