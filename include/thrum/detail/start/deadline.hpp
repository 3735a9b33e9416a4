// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Turns the times of <chrono> into the scheduler's nanoseconds.
//
// A moment of a clock other than the steady one is turned into a time to wait by its distance from
// that clock's now. That clock may be set back meanwhile, or run slower: so when the time is over,
// it is asked again, and if the moment has not come there the wait goes on (retry_until). A clock
// that is set forward ends no wait early.
#ifndef THRUM_DETAIL_START_DEADLINE_HPP
#define THRUM_DETAIL_START_DEADLINE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace thrum { inline namespace THRUM_ABI {

/// The clock of all deadlines: std::chrono::steady_clock.
using time_point = std::chrono::steady_clock::time_point;

namespace time_detail {

using namespace sched;

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

/// The time by which deadlines are counted: of the steady clock, or of the bubble.
THRUM_OUT_OF_LINE std::int64_t time_now() noexcept;

/// The moment so long from now, at least now; `no_deadline` if it cannot be counted.
template <class Rep, class Period>
std::int64_t deadline_after(std::chrono::duration<Rep, Period> time) noexcept {
  const std::int64_t now = time_now();
  const std::int64_t left = nanoseconds_of(time);
  if (left <= 0) {
    return now;
  }
  return left > latest_moment - now ? no_deadline : now + left;
}

/// The end of a sleep of so many nanoseconds that begins now: by up to a 16th of it, and by no more than
/// the runtime's options::timer_slack, later than deadline_after says, so that sleepers wake together.
THRUM_OUT_OF_LINE std::int64_t end_of_sleep(std::int64_t ns) noexcept;

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
      return time_now();
    }
    const bool countable = then != no_deadline && (now >= 0 || then <= no_deadline + now);
    return countable ? deadline_after(std::chrono::nanoseconds(then - now)) : no_deadline;
  }
}

/// Whether the caller runs in a bubble, where the library's time is not the system's.
THRUM_OUT_OF_LINE bool is_time_virtual() noexcept;

/// Whether a moment has come by its own clock; for a caller that has waited until
/// deadline_at(when). Of the steady clock it has, for the scheduler's time is that clock's. In a
/// bubble it has too: other clocks do not follow the bubble's jumps, and what was left by them at
/// the beginning has passed.
template <class Clock, class Duration>
bool has_come(std::chrono::time_point<Clock, Duration> when) {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return true;
  } else {
    return is_time_virtual() || nanoseconds_of(Clock::now().time_since_epoch()) >=
                                    nanoseconds_of(when.time_since_epoch());
  }
}

/// Calls attempt(deadline) until what it returns is no time-out, or the moment has come by its own
/// clock; returns the last result. `timed_out(result)` says what a time-out is.
template <class Clock, class Duration, class Attempt, class TimedOut>
auto retry_until(std::chrono::time_point<Clock, Duration> when, Attempt attempt,
                 TimedOut timed_out) {
  for (;;) {
    auto result = attempt(deadline_at(when));
    if (!timed_out(result) || has_come(when)) {
      return result;
    }
  }
}

/// Calls attempt(deadline) until it returns true, or the moment has come by its own clock; returns the last
/// result.
template <class Clock, class Duration, class Attempt>
bool retry_until(std::chrono::time_point<Clock, Duration> when, Attempt attempt) {
  return retry_until(when, attempt, [](bool done) { return !done; });
}

}  // namespace time_detail
}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <algorithm>
#include <atomic>
#include <bit>

namespace thrum { inline namespace THRUM_ABI { namespace time_detail {

THRUM_OUT_OF_LINE std::int64_t time_now() noexcept { return traits::now(); }

THRUM_OUT_OF_LINE bool is_time_virtual() noexcept {
  if (traits::virtual_now().get() == nullptr) {
    return false;
  }
  const auto* const m = current_m();
  return m != nullptr && m->scheduler->clock.is_virtual();
}

// A thread that sleeps until the earliest timer costs more to wake than the goroutine itself. So sleeps end
// on a grid. Its step is the largest power of two in the slack: 2^15 ns (33 us) in the 50 us of the default.
// A short sleep has a finer grid, with a step in a 16th of the sleep. Each grid holds all coarser ones: a
// short sleep wakes with a long one, and of two sleeps that begin together the shorter does not end later.
THRUM_OUT_OF_LINE std::int64_t end_of_sleep(std::int64_t ns) noexcept {
  const std::int64_t end = deadline_after(std::chrono::nanoseconds(ns));
  const auto* const m = current_m();
  if (m == nullptr || m->scheduler->clock.is_virtual()) {
    return end;
  }
  const std::int64_t share = std::min(ns / 16, m->scheduler->config().timer_slack_ns);
  if (share <= 1 || end > no_deadline - share) {
    return end;
  }
  const auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(share)));
  return (end + step - 1) & -step;
}

}}}  // namespace thrum::THRUM_ABI::time_detail
#endif

#endif
