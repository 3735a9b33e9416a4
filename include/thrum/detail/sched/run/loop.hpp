// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The life of an M: g0 finds a goroutine, switches to it, and is switched back to when that one
// leaves and knows no successor. What its thread does before and after is in m_main.hpp.
//
// Checked, with all that it calls, by tests/model/idle_protocol_model.cpp and timer_wake_model.cpp.
#ifndef THRUM_DETAIL_SCHED_RUN_LOOP_HPP
#define THRUM_DETAIL_SCHED_RUN_LOOP_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/detail/sched/run/execute.hpp>
#include <thrum/detail/sched/run/find_work.hpp>
#include <thrum/detail/sched/run/ready.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// g0 has a goroutine that must run on another thread: gives that thread its P.
inline void pass_to_owner(machine& m, goroutine& g) noexcept {
  if ((g.flags & g_on_host) != 0) {
    ready_on_host(g);  // HO3
    return;
  }
  machine& owner = *g.bound;
  m.scheduler->pass_p(m.scheduler->release_p(m), owner, false);
}

/// g0 of a thread whose goroutine has locked itself to it and has left: others run elsewhere until
/// that goroutine's turn comes. Null: it has ended, and the thread ends as well.
inline goroutine* wait_for_locked(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  if (m.pending != nullptr) {
    ready_on(m, *m.pending, true);
    m.pending = nullptr;
  }
  if (m.ends) [[unlikely]] {
    m.locked_g = nullptr;
    if (m.p != nullptr) {
      scheduler.hand_off(scheduler.release_p(m));
    }
    scheduler.creator.request(m);
    return nullptr;
  }
  // Before others may find that all is quiet; this thread does no more than go to sleep.
  scheduler.locked_asleep.fetch_add(1, relaxed);  // relaxed: published by the idle lock
  if (m.p != nullptr) {
    scheduler.hand_off(scheduler.release_p(m));
  }
  scheduler.wait_for_p(m);
  show_priority(*m.p, *m.locked_g);
  scheduler.locked_asleep.fetch_sub(1, relaxed);  // relaxed: published by the idle lock
  return m.locked_g;
}

/// What an M runs first when its thread has begun: it was made for a P that is on its way, or to
/// wait in the idle list. Null: the scheduler closes.
inline goroutine* first_goroutine(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  if (!m.awaited) {
    {
      scoped guard(scheduler.idle.lock());
      scheduler.ms.end_spare_locked();
    }
    return find_work(m);  // begins with going to sleep
  }
  if (!scheduler.wait_for_p(m)) {
    return nullptr;
  }
  {
    scoped guard(scheduler.idle.lock());
    scheduler.ms.end_locked();
  }
  return find_work(m);
}

/// Whether another search would find something, or must wait in the poller, where no thread does.
inline bool has_work_for_another(runtime_scheduler& scheduler) noexcept {
  return scheduler.has_queued_work() || scheduler.poller_is_wanted();
}

/// An M that has found a goroutine no longer searches. The last one that did has another search on if
/// there is more to be found. What is published from here on wakes one by itself, and what was left to
/// this M is seen here: by the same fences as at I5 and I6 (idle.hpp). Go wakes one in any case; most
/// of those find nothing, and each costs two switches between threads.
inline void end_search(machine& m) noexcept {
  if (m.spinning) {
    m.scheduler->idle.end_spinning(m);
    if (has_work_for_another(*m.scheduler)) {
      m.scheduler->wake_processor_after_rmw();
    }
  }
}

/// Runs g, and whatever else there is, until the scheduler closes.
inline void run_goroutines(machine& m, goroutine* g) noexcept {
  while (g != nullptr) {
    end_search(m);
    if ((g->flags & g_bound) != 0 && m.locked_g != g) {
      pass_to_owner(m, *g);
    } else {
      execute(m, *g);
    }
    g = m.locked_g != nullptr ? wait_for_locked(m) : find_work(m);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
