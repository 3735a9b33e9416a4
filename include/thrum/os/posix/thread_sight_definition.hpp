// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/thread_sight.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_THREAD_SIGHT_DEFINITION_HPP
#define THRUM_OS_POSIX_THREAD_SIGHT_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_PORTABLE && !THRUM_OS_MACOS

#include <thrum/base/order.hpp>
#include <thrum/os/answers.hpp>
#include <thrum/os/posix/clock.hpp>
#include <thrum/os/posix/thread_sight.hpp>

#include <atomic>
#include <cstdint>
#include <ctime>

#include <pthread.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_NOINLINE THRUM_OUT_OF_LINE void clock_sight::open() noexcept {
  ::clockid_t clock{};
  const bool known = ::pthread_getcpuclockid(::pthread_self(), &clock) == 0;
  clock_.store(clock, relaxed);      // relaxed: a number that needs nothing else
  has_clock_.store(known, relaxed);  // relaxed: another thread's clock, for one look, does no harm
  is_open_.store(true, relaxed);     // relaxed: a guess is enough
}

THRUM_OUT_OF_LINE void clock_sight::close() noexcept {
  is_open_.store(false, relaxed);    // relaxed: a guess is enough
  has_clock_.store(false, relaxed);  // relaxed: the clock of a thread that has ended says nothing
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::int64_t clock_sight::cpu_now() const noexcept {
  ::timespec t{};
  if (!has_clock_.load(relaxed) ||                       // relaxed: see open
      ::clock_gettime(clock_.load(relaxed), &t) != 0) {  // relaxed: see open
    return 0;
  }
  return std::int64_t{t.tv_sec} * nanoseconds_per_second + t.tv_nsec;
}

THRUM_OUT_OF_LINE thread_look clock_sight::look() const noexcept {
  // relaxed: a guess is enough
  return is_open_.load(relaxed) ? thread_look::unknown : thread_look::in_system;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_PORTABLE
#endif
