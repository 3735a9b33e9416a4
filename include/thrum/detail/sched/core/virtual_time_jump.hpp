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
  return is_for_lock(g.reason.get()) &&
         g.word.load(relaxed) > goroutine::busy;  // relaxed: likewise
}

THRUM_OUT_OF_LINE bool runtime_scheduler::resume_quiet_locked() noexcept {
  virtual_clock& virtual_time = clock.own();
  if (!virtual_time.has_begun.get() || !is_quiet_locked()) {
    return false;
  }
  if (goroutine* const g = virtual_time.quiet_waiters.pop_front()) {
    g->status.set(g_status::runnable);
    queue_for(*g).push_back(*g);
  } else {
    bool stands = false;
    pool->for_each([&](goroutine& each) {
      // One that was made for a stolen half became runnable under the lock of a list at which the last
      // M has looked since, or by [fl.size].
      const g_status status = each.status.get();
      stands =
          stands || status == g_status::runnable ||
          (status == g_status::waiting && !is_durable(each.reason.get()) && !is_timed_lock(each));
    });
    if (stands) {
      return false;
    }
    std::int64_t next = timer_heap<traits>::never;
    for_each_live_p([&](processor& p) {
      const std::int64_t due = p.timers.earliest_armed();
      next = due < next ? due : next;
    });
    if (next == timer_heap<traits>::never || virtual_time.has_returned.get()) {
      if (virtual_time.outcome.get() == virtual_clock::state::runs) {
        const bool ended = goroutine_count() == 0;
        virtual_time.outcome.set(ended ? virtual_clock::state::ended
                                       : virtual_clock::state::deadlocked);
        virtual_time.settled.wake();
      }
      return false;
    }
    if (next > virtual_time.now.get()) {
      virtual_time.now.set(next);
      virtual_time.moments.fetch_add(1, relaxed);  // relaxed: as now
    }
  }
  return true;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
