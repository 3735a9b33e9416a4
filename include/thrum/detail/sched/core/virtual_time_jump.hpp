// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// When a virtual clock moves. The essay is in virtual_time.hpp.
#ifndef THRUM_DETAIL_SCHED_CORE_VIRTUAL_TIME_JUMP_HPP
#define THRUM_DETAIL_SCHED_CORE_VIRTUAL_TIME_JUMP_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/core/virtual_time.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Whether a parked goroutine waits for a lock until a time: then time goes on, as nothing else might
/// end its wait.
inline bool is_timed_lock(const goroutine& g) noexcept {
  // relaxed: a goroutine that parked has released its P since
  return is_for_lock(g.reason.load(relaxed)) &&
         g.word.load(relaxed) > goroutine::busy;  // relaxed: likewise
}

THRUM_OUT_OF_LINE bool runtime_scheduler::resume_quiet_locked() noexcept {
  virtual_clock& virtual_time = clock.own();
  // relaxed: set on an M, which has passed the lock since
  if (!virtual_time.has_begun.load(relaxed) || !is_quiet_locked()) {
    return false;
  }
  if (goroutine* const g = virtual_time.quiet_waiters.pop_front()) {
    g->status.store(g_status::runnable, relaxed);  // relaxed: published by the queue's lock
    queue_for(*g).push_back(*g);
  } else {
    bool stands = false;
    pool->for_each([&](goroutine& each) {
      // relaxed: one that parked has released its P since; one that was made for a stolen half was made
      // runnable under the lock of a list at which the last M has looked since, or by [fl.size]
      const g_status status = each.status.load(relaxed);
      stands = stands || status == g_status::runnable ||
               (status == g_status::waiting &&
                // relaxed: a goroutine that parked has released its P since
                !is_durable(each.reason.load(relaxed)) && !is_timed_lock(each));
    });
    if (stands) {
      return false;
    }
    std::int64_t next = timer_heap<traits>::never;
    for_each_live_p([&](processor& p) {
      const std::int64_t due = p.timers.earliest_armed();
      next = due < next ? due : next;
    });
    // relaxed: the goroutine that set it has released its P since
    if (next == timer_heap<traits>::never || virtual_time.has_returned.load(relaxed)) {
      if (virtual_time.outcome.load(relaxed) ==
          virtual_clock::state::runs) {  // relaxed: under the lock
        const bool ended = goroutine_count() == 0;
        // relaxed: published by the note
        virtual_time.outcome.store(
            ended ? virtual_clock::state::ended : virtual_clock::state::deadlocked, relaxed);
        virtual_time.settled.wake();
      }
      return false;
    }
    if (next > virtual_time.now.load(relaxed)) {   // relaxed: written here only
      virtual_time.now.store(next, relaxed);       // relaxed: published by the lock
      virtual_time.moments.fetch_add(1, relaxed);  // relaxed: as now
    }
  }
  return true;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
