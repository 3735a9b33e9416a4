// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// after: a timer of which only the channel is wanted.
#ifndef THRUM_TIME_AFTER_HPP
#define THRUM_TIME_AFTER_HPP

#include <thrum/chan.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/time/timer.hpp>

#include <chrono>

namespace thrum { inline namespace THRUM_ABI {

/// A channel that is ready once, `time` from now, and then gives that moment. Costs nothing while no
/// receiver waits, and is freed with its last handle.
template <class Rep, class Period>
[[nodiscard]] recv_chan<time_point> after(std::chrono::duration<Rep, Period> time) {
  return timer(time).chan();
}

}}  // namespace thrum::THRUM_ABI

#endif
