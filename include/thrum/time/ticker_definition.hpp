// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What time/ticker.hpp declares: the bodies that are not inlined.
#ifndef THRUM_TIME_TICKER_DEFINITION_HPP
#define THRUM_TIME_TICKER_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/chan.hpp>
#include <thrum/time/ticker.hpp>
#include <thrum/time/timer.hpp>

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
