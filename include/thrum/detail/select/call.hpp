// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A select whose wait ends by a call, in place of a parked goroutine: the engine's steps for a coroutine.
//
// start_select() is L1 to L3 of engine.hpp and end_select() its L4. Between them no thread waits.
#ifndef THRUM_DETAIL_SELECT_CALL_HPP
#define THRUM_DETAIL_SELECT_CALL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/detail/select/engine.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace select_detail {

/// Channels that are locked.
struct locked_channels {
  void* of;
  void (*release)(void*) noexcept;
  void unlock() noexcept { release(of); }
};

/// A select whose wait ends by a call in place of a parked goroutine: that of a coroutine. One for each wait.
struct select_call : selection_state {
  callback_point* points;  // one for each operation; they have their function
  spin_lock* last_released = nullptr;
  std::size_t kept = 0;  // channels at the head of by_address that have our reference
};

/// What came of run_select up to the wait.
struct select_start {
  enum class kind : std::uint8_t { chosen, not_ready, no_channels, waits } what;
  std::size_t index = 0;
};
using select_park = bool (*)(section& here, select_call& by, std::int64_t due,
                             locked_channels& held) noexcept;

/// Carries out one of the operations; if none is ready and `by` is not null, links its points and calls
/// park(), which unlocks. `waits`: park() returned true; if it returned false: `not_ready`.
THRUM_OUT_OF_LINE select_start start_select(const select_frame& frame, select_call* by,
                                            select_park park) noexcept;

/// After the wait: unlinks the points that are left. The index of the operation that ended the wait; frame.n: none
/// did, or it shall be tried again.
THRUM_OUT_OF_LINE std::size_t end_select(const select_frame& frame, select_call& by) noexcept;

}}}  // namespace thrum::THRUM_ABI::select_detail

#if THRUM_BODIES
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/sched/run/yield.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace select_detail {

THRUM_OUT_OF_LINE select_start start_select(const select_frame& frame, select_call* by,
                                            select_park park) noexcept {
  using kind = select_start::kind;
  section here;
  for (;;) {
    select_locks locks(frame);
    const std::size_t chosen = locks.lock_and_choose(here.m(), frame);
    if (chosen != frame.n) {
      if (carry_out(here, *frame.operations[chosen], locks)) {
        return {kind::chosen, chosen};
      }
      continue;
    }
    if (locks.empty()) {
      return {by != nullptr ? kind::no_channels : kind::not_ready};
    }
    if (by == nullptr) {
      locks.unlock();
      preemption_point(here);
      return {kind::not_ready};
    }
    by->last_released = &locks.last_released();
    // If several cases wait on one channel, the arriving side takes the first of them.
    const auto n = base::convert<std::uint32_t>(frame.n);
    const std::size_t first = locks.has_duplicates() ? random_below(here.m(), n) : 0;
    for (std::size_t k = 0; k < frame.n; ++k) {
      const std::size_t i = (first + k) % frame.n;
      by->points[i].selection = by;
      by->points[i].slot = frame.operations[i]->slot;  // SE3
      link(*frame.operations[i], by->points[i]);
    }
    if (locks.has_duplicates()) {
      locks.keep();
      by->kept = locks.size();
    }
    locked_channels held{&locks,
                         [](void* of) noexcept { static_cast<select_locks*>(of)->unlock(); }};
    return {park(here, *by, first_due(frame), held) ? kind::waits : kind::not_ready};
  }
}

THRUM_OUT_OF_LINE std::size_t end_select(const select_frame& frame, select_call& by) noexcept {
  // relaxed: it has been won, and nothing changes it
  wait_point* const winner = by.winner.load(relaxed);
  std::size_t index = frame.n;
  {
    const section here;
    for (std::size_t i = 0; i < frame.n; ++i) {
      select_operation& operation = *frame.operations[i];
      if (by.points + i == winner) {
        const wake_cause cause = winner->cause.get();
        operation.closed = cause == wake_cause::closed;
        index = cause == wake_cause::retry ? frame.n : i;
      } else if (operation.core != nullptr) {
        unlink(operation, by.points[i]);
      }
    }
  }
  for (std::size_t i = 0; i < by.kept; ++i) {
    frame.by_address[i]->drop_reference();
  }
  return index;
}

}}}  // namespace thrum::THRUM_ABI::select_detail
#endif

#endif
