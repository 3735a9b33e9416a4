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

/// A number with one writer at a time, as the holder of a P or of a lock: an increment is a load,
/// an add and a store. Readers want a figure, not an order.
template <class T>
class figure {
 public:
  THRUM_INLINE void add(T n = 1) noexcept {
    value_.store(value_.load(relaxed) + n, relaxed);  // relaxed: the only writer
  }
  THRUM_INLINE void take(T n = 1) noexcept {
    value_.store(value_.load(relaxed) - n, relaxed);  // relaxed: the only writer
  }
  T get() const noexcept {
    return value_.load(relaxed);  // relaxed: a figure for readers, and exact for the writer
  }

 protected:
  atomic<T> value_{0};
};

/// A count of events that may publish what led to them.
class counter : public figure<std::uint64_t> {
 public:
  /// Counts an event; a thread that sees the count sees what led to it.
  THRUM_INLINE void add_release() noexcept {
    // [s.count >] release: a goroutine's end carries its start; relaxed: only we write
    value_.store(value_.load(relaxed) + 1, release);
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
