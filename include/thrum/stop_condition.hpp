// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What ends a wait early: the argument of `lock(stop)`, `acquire(stop)`, `recv(stop)` and so on.
//
// Callers that only lock need not pay for <stop_token>, so headers of what waits include this one, and a
// program that passes a stop includes <thrum/detail/start/stoppable.hpp>, if not <thrum.hpp> or
// <thrum/context.hpp>.
#ifndef THRUM_STOP_CONDITION_HPP
#define THRUM_STOP_CONDITION_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/start/deadline.hpp>

#include <chrono>
#include <concepts>

namespace thrum { inline namespace THRUM_ABI {

/// What a wait can be called off by: a std::stop_token, or a context.
///
/// A call that takes one returns false, or what else says that it has got nothing, once a stop is
/// requested or the context is done. What it can have without waiting it takes, also then. Calls of
/// input and output fail with std::errc::operation_canceled: also, and without doing anything, those
/// that begin after the stop.
template <class S>
concept stop_condition = requires(const S& of) {
  of.stop_token();
}
|| (
       requires(const S& token) {
         { token.stop_requested() } -> std::same_as<bool>;
         { token.stop_possible() } -> std::same_as<bool>;
       } &&
       !requires(S & source) { source.request_stop(); });

namespace stop_detail {

template <class S>
inline constexpr bool is_time = false;
template <class Rep, class Period>
inline constexpr bool is_time<std::chrono::duration<Rep, Period>> = true;

template <class S>
inline constexpr bool is_moment = false;
template <class Clock, class Duration>
inline constexpr bool is_moment<std::chrono::time_point<Clock, Duration>> = true;

}  // namespace stop_detail

/// Until when a call waits: a std::stop_token, a context, a time from the call, or a moment of any clock.
///
/// A call that takes one returns as with a stop once the time has passed. Calls of input and output fail
/// with errc::deadline_exceeded then: also, and without doing anything, those that begin after it.
template <class S>
concept until_condition = stop_condition<S> || stop_detail::is_time<S> || stop_detail::is_moment<S>;

namespace stop_detail {

/// Calls attempt(sched::until_stopped), again if what ended it was no stop: a deadline by another
/// clock, which has moved. Returns its last result; timed_out(result) says whether it got nothing.
/// Defined in stoppable.hpp.
template <stop_condition S, class Attempt, class TimedOut>
auto until_stop(const S& stop, Attempt attempt, TimedOut timed_out);

/// until_stop for a stop. Calls attempt(deadline) for a time or a moment, whose clock retry_until asks.
template <until_condition S, class Attempt, class TimedOut>
auto until_stopped(const S& end, Attempt attempt, TimedOut timed_out) {
  if constexpr (is_time<S>) {
    return attempt(time_detail::deadline_after(end));
  } else if constexpr (is_moment<S>) {
    return time_detail::retry_until(end, attempt, timed_out);
  } else {
    return until_stop(end, attempt, timed_out);
  }
}

/// until_stopped for an attempt that returns whether it succeeded.
template <until_condition S, class Attempt>
bool until_stopped(const S& stop, Attempt attempt) {
  return until_stopped(stop, attempt, [](bool done) { return !done; });
}

/// Whether it is requested, the context done, or the moment has come.
template <until_condition S>
bool is_over(const S& end);

/// A time as the moment at which it ends; anything else as it is.
template <until_condition S>
decltype(auto) ending(const S& end) {
  if constexpr (is_time<S>) {
    return time_point(std::chrono::nanoseconds(time_detail::deadline_after(end)));
  } else {
    return (end);
  }
}

/// Calls call(), whose waits for input and output a stop ends; again if what ended one was no stop, so
/// it must go on where it stood. It may set `error`, a std::error_code. After a stop it is not called:
/// the error is operation_canceled, or deadline_exceeded after a time or a moment; the result none.
template <until_condition S, class Error, class Call>
auto run_until_stopped(const S& stop, Error& error, Call call);

}  // namespace stop_detail
}}  // namespace thrum::THRUM_ABI

#endif
