// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Event counts and durations of one P, written by the owner of the P and read by any thread.
#ifndef THRUM_DETAIL_SCHED_CORE_COUNTERS_HPP
#define THRUM_DETAIL_SCHED_CORE_COUNTERS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
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

/// Counts of durations by powers of two.
class durations {
 public:
  static constexpr std::size_t buckets = 40;

  void add(std::int64_t ns) noexcept { counts_[bucket_of(ns)].add(); }
  /// How many were below 2^i ns and not below 2^(i - 1); in the last bucket, also longer ones.
  std::uint64_t in(std::size_t i) const noexcept { return counts_[i].get(); }

 private:
  static std::size_t bucket_of(std::int64_t ns) noexcept {
    const auto used = ns > 0 ? static_cast<std::uint64_t>(ns) : 0;
    return std::min(static_cast<std::size_t>(64 - std::countl_zero(used)), buckets - 1);
  }

  figure<std::uint64_t> counts_[buckets];
};

/// See run/latency.hpp.
struct latency_counts {
  durations ready;
  durations poll;
  durations slice;
  durations timer;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
