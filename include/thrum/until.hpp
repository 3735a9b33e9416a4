// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// until: until when a call waits, in one argument.
#ifndef THRUM_UNTIL_HPP
#define THRUM_UNTIL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/stoppable.hpp>
#include <thrum/stop_condition.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI {

/// Until when a call waits: a time from the call, a moment of any clock, a stop, or a context.
class until {
 public:
  /// For a time that begins with the call.
  template <class Rep, class Period>
  until(std::chrono::duration<Rep, Period> time) noexcept
      : ns_(time < time.zero() ? -1 : time_detail::nanoseconds_of(time)), kind_(kind::time) {}

  /// Until a moment. The distance of a moment of another clock than the steady one is taken here.
  template <class Clock, class Duration>
  until(std::chrono::time_point<Clock, Duration> when)
      : ns_(time_detail::deadline_at(when)), kind_(kind::moment) {}

  /// Until a std::stop_token or a context says so.
  template <stop_condition Stop>
  until(const Stop& stop)
      : token_(stop_detail::token_of(stop)),
        ns_(stop_detail::deadline_of(stop)),
        kind_(kind::stop) {}

  /// Calls call(deadline) and returns its result. A time of 0 is no deadline. A stop ends the waits of the
  /// call: `error` is std::errc::operation_canceled then. For the library.
  template <class Call>
  auto run(std::error_code& error, Call call) const {
    if (kind_ == kind::stop) {
      return stop_detail::run_until_stopped(ended_by{*this}, error,
                                            [&] { return call(time_point::max()); });
    }
    std::int64_t end = ns_;
    if (kind_ == kind::time) {
      end = ns_ == 0 ? sched::no_deadline
                     : time_detail::deadline_after(std::chrono::nanoseconds(ns_));
    }
    return call(time_point(std::chrono::nanoseconds(end)));
  }

 private:
  enum class kind : std::uint8_t { time, moment, stop };

  /// The token and the deadline of a stop, as a stop_condition.
  struct ended_by {
    const until& of;
    std::stop_token stop_token() const noexcept { return of.token_; }
    std::optional<time_point> deadline() const noexcept {
      return time_point(std::chrono::nanoseconds(of.ns_));
    }
    bool cancelled() const noexcept {
      return of.token_.stop_requested() || of.ns_ <= time_detail::time_now();
    }
  };

  std::stop_token token_;
  std::int64_t ns_;  // of `time` from the call, else of the steady clock
  kind kind_;
};

}}  // namespace thrum::THRUM_ABI

#endif
