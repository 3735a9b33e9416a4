// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The deadline of a wait that no time ends.
#ifndef THRUM_SCHED_QUEUE_NO_DEADLINE_HPP
#define THRUM_SCHED_QUEUE_NO_DEADLINE_HPP

#include <cstdint>
#include <limits>

#include <thrum/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The time that never comes.
inline constexpr std::int64_t no_deadline = std::numeric_limits<std::int64_t>::max();

}}}  // namespace thrum::THRUM_ABI::sched

#endif
