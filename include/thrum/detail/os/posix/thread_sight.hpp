// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What others see of a thread, as far as POSIX has it: its CPU time. POSIX does not say whether it
// computes or waits at this moment.
#ifndef THRUM_DETAIL_OS_POSIX_THREAD_SIGHT_HPP
#define THRUM_DETAIL_OS_POSIX_THREAD_SIGHT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_PORTABLE && !THRUM_OS_MACOS

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>

#include <cstdint>

#include <time.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The part of a thread_ref that looks, as a thread_sight.
class clock_sight {
 public:
  void open() noexcept;
  void close() noexcept;
  std::int64_t cpu_now() const noexcept;
  thread_look look() const noexcept;

 private:
  base::hint<bool> is_open_{false};
  base::hint<bool> has_clock_{false};
  base::hint<::clockid_t> clock_{};
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/clock.hpp>

#include <ctime>

#include <pthread.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void clock_sight::open() noexcept {
  ::clockid_t clock{};
  const bool known = ::pthread_getcpuclockid(::pthread_self(), &clock) == 0;
  clock_.set(clock);
  has_clock_.set(known);
  is_open_.set(true);
}

THRUM_OUT_OF_LINE void clock_sight::close() noexcept {
  is_open_.set(false);
  has_clock_.set(false);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::int64_t clock_sight::cpu_now() const noexcept {
  ::timespec t{};
  if (!has_clock_.get() || ::clock_gettime(clock_.get(), &t) != 0) {
    return 0;
  }
  return std::int64_t{t.tv_sec} * nanoseconds_per_second + t.tv_nsec;
}

THRUM_OUT_OF_LINE thread_look clock_sight::look() const noexcept {
  return is_open_.get() ? thread_look::unknown : thread_look::in_system;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_POSIX_THREAD_SIGHT_HPP
