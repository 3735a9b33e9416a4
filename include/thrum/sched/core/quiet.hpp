// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// When a virtual clock moves. The essay is in virtual_time.hpp.
#ifndef THRUM_SCHED_CORE_QUIET_HPP
#define THRUM_SCHED_CORE_QUIET_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/sched/core/scheduler.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sched/core/virtual_time.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE bool resume_quiet_locked(runtime_scheduler& scheduler) noexcept {
  virtual_clock& clock = scheduler.clock.own();
  // relaxed: set on an M, which has passed the lock since
  if (!clock.has_begun.load(relaxed) || !scheduler.is_quiet_locked()) {
    return false;
  }
  if (goroutine* const g = clock.quiet_waiters.pop_front()) {
    g->status.store(g_status::runnable, relaxed);  // relaxed: published by the queue's lock
    scheduler.global.push_back(*g);
  } else {
    bool stands = false;
    scheduler.pool->for_each([&](goroutine& each) {
      // relaxed: a goroutine that parked has released its P since
      const g_status status = each.status.load(relaxed);
      stands = stands || status == g_status::runnable ||
               (status == g_status::waiting &&
                // relaxed: a goroutine that parked has released its P since
                !is_durable(each.reason.load(relaxed)));
    });
    if (stands) {
      return false;
    }
    std::int64_t next = timer_heap<traits>::never;
    scheduler.for_each_p([&](processor& p) {
      const std::int64_t due = p.timers.earliest_armed();
      next = due < next ? due : next;
    });
    if (next == timer_heap<traits>::never) {
      if (clock.outcome.load(relaxed) == virtual_clock::state::runs) {  // relaxed: under the lock
        const bool ended = scheduler.goroutine_count() == 0;
        // relaxed: published by the note
        clock.outcome.store(ended ? virtual_clock::state::ended : virtual_clock::state::deadlocked,
                            relaxed);
        clock.settled.wake();
      }
      return false;
    }
    if (next > clock.now.load(relaxed)) {  // relaxed: written here only
      clock.now.store(next, relaxed);      // relaxed: published by the lock
    }
  }
  return true;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
