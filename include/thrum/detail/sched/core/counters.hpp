// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Event counts of one P, written by the owner of the P and read by any thread.
#ifndef THRUM_DETAIL_SCHED_CORE_COUNTERS_HPP
#define THRUM_DETAIL_SCHED_CORE_COUNTERS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

/// A count of events that may publish what led to them.
class counter : public figure<std::uint64_t> {
 public:
  /// Counts an event; a thread that sees the count sees what led to it.
  THRUM_INLINE void add_release() noexcept {
    // [s.count >] release: a goroutine's end carries its start
    store(get() + 1, release);
  }
};

struct counters {
  counter created;      // goroutines started from this P
  counter finished;     // goroutines that ended on this P
  counter switches;     // goroutines put on the processor
  counter steals;       // goroutines taken from other Ps
  counter preemptions;  // time slices that were cut
  counter timers;       // timers that fired
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
