// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The values that stand in place of a deadline, and the latest moment that is one.
#ifndef THRUM_DETAIL_SCHED_QUEUE_NO_DEADLINE_HPP
#define THRUM_DETAIL_SCHED_QUEUE_NO_DEADLINE_HPP

#include <cstdint>
#include <limits>

#include <thrum/detail/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The time that never comes.
inline constexpr std::int64_t no_deadline = std::numeric_limits<std::int64_t>::max();

/// In place of a deadline: the wait ends when the stop_relay of the calling goroutine or thread says
/// (run/stop_relay.hpp). Passed by a caller that has one, and never computed from a time.
inline constexpr std::int64_t until_stopped = no_deadline - 1;

/// The latest moment that can be waited for: a timer that is set to it never fires in a lifetime.
inline constexpr std::int64_t latest_moment = until_stopped - 1;

}}}  // namespace thrum::THRUM_ABI::sched

#endif
