// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What deadline.hpp declares: the bodies that are not inlined.
#ifndef THRUM_DEADLINE_DEFINITION_HPP
#define THRUM_DEADLINE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/deadline.hpp>
#include <thrum/sched/core/current.hpp>
#include <thrum/sched/core/scheduler.hpp>
#include <thrum/sched/core/traits.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace time_detail {

THRUM_OUT_OF_LINE std::int64_t time_now() noexcept { return traits::now(); }

THRUM_OUT_OF_LINE bool is_time_virtual() noexcept {
  // relaxed: a constant once set
  if (traits::virtual_now().load(std::memory_order_relaxed) == nullptr) {
    return false;
  }
  const auto* const m = current_m();
  return m != nullptr && m->scheduler->clock.is_virtual();
}

// A thread that sleeps until the earliest timer costs more to wake than the goroutine itself. So sleeps end
// on a grid, up to a 16th later than they must: of 2^20 ns (1.05 ms) for those of 17 ms and more, of half of
// that for those of half as long, and so on; each grid holds all coarser ones, so that a short
// sleep wakes with a long one, and of two sleeps that begin together the shorter does not end later.
THRUM_OUT_OF_LINE std::int64_t end_of_sleep(std::int64_t ns) noexcept {
  constexpr std::int64_t coarsest = std::int64_t{1} << 20;
  const std::int64_t end = deadline_after(std::chrono::nanoseconds(ns));
  const std::int64_t share = std::min(ns / 16, coarsest);
  if (share <= 1 || end > no_deadline - coarsest || is_time_virtual()) {
    return end;
  }
  const auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(share)));
  return (end + step - 1) & -step;
}

}}}  // namespace thrum::THRUM_ABI::time_detail

#endif
