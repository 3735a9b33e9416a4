// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Event counts of one P, written by the owner of the P and read by any thread.
#ifndef THRUM_SCHED_CORE_COUNTERS_HPP
#define THRUM_SCHED_CORE_COUNTERS_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/sched/core/traits.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

/// A count with one writer at a time: an increment is a load, an add and a store.
class counter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    // relaxed: the owner of the P is the only writer; readers want a figure, not an order
    value_.store(value_.load(relaxed) + n, relaxed);
  }

  /// Counts an event; a thread that sees the count sees what led to it.
  void add_release() noexcept {
    // [s.count >] release: a goroutine's end carries its start; relaxed: only we write
    value_.store(value_.load(relaxed) + 1, release);
  }

  std::uint64_t get() const noexcept {
    return value_.load(relaxed);  // relaxed: a figure for reports
  }

 private:
  atomic<std::uint64_t> value_{0};
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
