// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// From the times of <chrono> to the scheduler's nanoseconds.
#ifndef THRUM_DEADLINE_HPP
#define THRUM_DEADLINE_HPP

#include <thrum/base/config.hpp>
#include <thrum/sched/park.hpp>
#include <thrum/sched/traits.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace thrum::inline THRUM_ABI {

/// The clock of all deadlines: std::chrono::steady_clock.
using time_point = std::chrono::steady_clock::time_point;

namespace sched {

/// A duration in nanoseconds, rounded up; one too long to count is `no_deadline`.
template <class Rep, class Period>
std::int64_t nanoseconds_of(std::chrono::duration<Rep, Period> time) noexcept {
  using seconds = std::chrono::duration<double>;
  constexpr double longest = 9.2e9;  // seconds; 2^63 ns is 9.22e9
  if (seconds(time).count() >= longest) {
    return no_deadline;
  }
  if (seconds(time).count() <= -longest) {
    return -no_deadline;
  }
  return std::chrono::ceil<std::chrono::nanoseconds>(time).count();
}

/// The moment so long from now, at least now; `no_deadline` if it cannot be counted.
template <class Rep, class Period>
std::int64_t deadline_after(std::chrono::duration<Rep, Period> time) noexcept {
  const std::int64_t now = default_traits::now();
  const std::int64_t left = nanoseconds_of(time);
  if (left <= 0) {
    return now;
  }
  return left >= no_deadline - now ? no_deadline : now + left;
}

/// A moment of any clock. Of the steady clock it is taken as it is, of another by its distance from
/// that clock's now.
template <class Clock, class Duration>
std::int64_t deadline_at(std::chrono::time_point<Clock, Duration> when) {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return nanoseconds_of(when.time_since_epoch());
  } else {
    // In a unit of its own a far moment may be too far from now to count, which is how `-` counts.
    const std::int64_t then = nanoseconds_of(when.time_since_epoch());
    const std::int64_t now = nanoseconds_of(Clock::now().time_since_epoch());
    if (then <= now) {
      return default_traits::now();
    }
    const bool countable = then != no_deadline && (now >= 0 || then <= no_deadline + now);
    return countable ? deadline_after(std::chrono::nanoseconds(then - now)) : no_deadline;
  }
}

}  // namespace sched
}  // namespace thrum::inline THRUM_ABI

#endif
