// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// ticker: a channel that is ready at regular moments.
#ifndef THRUM_TIME_TICKER_HPP
#define THRUM_TIME_TICKER_HPP

#include <thrum/chan.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/time/timer.hpp>

#include <chrono>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

/// A channel that is ready every period: a shared handle, cheap to copy. A receiver that is late
/// gets one tick for all that it has missed. All members may be called from any goroutine and any
/// thread.
class ticker {
 public:
  /// The first tick comes one period from now. usage_error if the period is not positive.
  template <class Rep, class Period>
  explicit ticker(std::chrono::duration<Rep, Period> period)
      : channel_(chan_detail::adopt_reference{},
                 new time_detail::timer_channel(
                     time_detail::due_after(period),
                     positive(period, "ticker: the period is not positive"))) {}

  /// Gives the time at which each tick was due. Its size and capacity are 0. The nil channel if the
  /// ticker was moved from.
  recv_chan<time_point> chan() const noexcept { return channel_; }

  /// No more ticks come, not even one that was due. A receiver that waits goes on waiting.
  /// usage_error if it was moved from.
  void stop() const;

  /// Ticks every `period` from now. usage_error if that is not positive, or if the ticker was moved
  /// from.
  template <class Rep, class Period>
  void reset(std::chrono::duration<Rep, Period> period) const {
    const std::int64_t ns = positive(period, "ticker::reset: the period is not positive");
    core("ticker::reset: called on a ticker that was moved from")
        .set(time_detail::due_after(period), ns);
  }

 private:
  template <class Rep, class Period>
  static std::int64_t positive(std::chrono::duration<Rep, Period> period, const char* error) {
    const std::int64_t ns = time_detail::nanoseconds_of(period);
    if (ns <= 0) {
      base::throw_usage(error);
    }
    return ns;
  }

  time_detail::timer_channel& core(const char* error) const;

  recv_chan<time_point> channel_;
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE void ticker::stop() const {
  core("ticker::stop: called on a ticker that was moved from").set(sched::no_deadline, 0);
}

THRUM_OUT_OF_LINE time_detail::timer_channel& ticker::core(const char* error) const {
  if (!channel_) {
    base::throw_usage(error);
  }
  return *static_cast<time_detail::timer_channel*>(channel_.core());
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
