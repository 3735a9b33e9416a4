// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a running goroutine lets others run: it yields, or does what is asked of its P (preemption) at the end
// of an operation.
#ifndef THRUM_DETAIL_SCHED_RUN_YIELD_HPP
#define THRUM_DETAIL_SCHED_RUN_YIELD_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/detail/sched/run/ready.hpp>
#include <thrum/detail/sched/run/switch.hpp>
#include <thrum/detail/sched/run/take.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

inline bool commit_to_global(machine& m, goroutine& g, void*) noexcept {
  if ((g.flags & g_on_host) != 0) [[unlikely]] {
    ready_on_host(g);
    return true;
  }
  // [g.status >] release: where its stack was left. If this M has no P, no freeze has stopped it.
  g.status.store(g_status::runnable, release);
  m.scheduler->queue_for(g).push_back(g);
  m.scheduler->wake_processor();
  return true;
}

/// As commit_to_global, for a goroutine that gives way.
inline bool commit_behind(machine& m, goroutine& g, void*) noexcept {
  if ((g.flags & g_on_host) != 0) [[unlikely]] {
    ready_on_host(g);
    return true;
  }
  g.status.set(g_status::runnable);
  if (is_in_background(g)) [[unlikely]] {
    m.scheduler->background.push_back(g);
  } else {
    m.scheduler->global.push_behind(g);
  }
  m.scheduler->wake_processor();
  return true;
}

inline bool commit_unlock_global(machine& m, goroutine&, void*) noexcept {
  m.scheduler->global.lock().unlock();
  if (m.scheduler->has_other_ps()) {
    m.scheduler->wake_processor();
  }
  return true;
}

/// Puts the running goroutine at the tail of the global queue, or of the background queue, and lets g0
/// choose.
THRUM_COLD inline machine& yield_slow(machine& m) noexcept {
  return leave(m, static_cast<goroutine*>(nullptr), &commit_to_global, nullptr);
}

/// For a goroutine that yields while something is asked of its P.
THRUM_COLD inline machine& yield_asked(machine& m) noexcept {
  if (!is_alone_in_background(m)) {
    return yield_slow(m);
  }
  begin_slice(*m.p);  // every 61st looks further
  return m;
}

/// Counts a turn of a goroutine that yields and finds no other: the background's turn must come, too.
THRUM_COLD inline void count_turn(processor& p) noexcept { begin_slice(p); }

/// The running goroutine gives way and lets g0 choose.
THRUM_COLD inline machine& give_way(machine& m) noexcept {
  return leave(m, static_cast<goroutine*>(nullptr), &commit_behind, nullptr);
}

/// Gosched: to the tail of the global queue, if anything else can run here. One of background priority
/// goes to its own queue, by yield_slow (BG2).
///
/// The queue's lock is held from the look at its head until the goroutine has left its stack, so
/// one acquisition serves both taking the successor and queueing the predecessor.
inline void yield(section& here) noexcept {
  machine& m = here.this_m();
  processor& p = *m.p;
  runtime_scheduler& scheduler = *m.scheduler;
  if (p.attention.get() != 0) [[unlikely]] {
    here.moved_to(yield_asked(m));
    return;
  }
  if (p.timers.size() != 0 && ++p.timer_ticks >= traits::timer_check_interval) [[unlikely]] {
    p.timer_ticks = 0;
    bool ran = false;
    run_timers(m, p, ran);
  }
  goroutine* next = nullptr;
  if (!global_turn(p)) [[likely]] {
    next = take_local(m);
  } else if (is_turn_of_g0(m)) {
    here.moved_to(yield_slow(m));
    return;
  }
  scheduler.global.lock().lock();
  if (next == nullptr) {
    // One at a time: the lock is needed anyway, and the way over the ring costs another exchange.
    next = scheduler.global.pop_locked();
    if (next != nullptr) {
      begin_slice(p);
    } else {
      scheduler.global.lock().unlock();
      if ((next = take_local(m)) == nullptr) {
        count_turn(p);
        return;
      }
      scheduler.global.lock().lock();
    }
  }
  goroutine& g = *m.g;
  g.status.set(g_status::runnable);
  scheduler.global.push_back_locked(g);
  here.moved_to(leave(m, next, &commit_unlock_global, nullptr));
}

/// Whether the calling goroutine should come to the scheduler. Two loads; from user code, so its P
/// may not be its own any more, which is a reason to come.
THRUM_NOINLINE inline bool is_preemption_asked() noexcept {
  const machine* const m = current_m();
  return m != nullptr && m->p != nullptr &&
         (m->p->attention.get() != 0 ||
          m->retake.load(relaxed) != retake_state::none);  // relaxed: seen next time
}

/// Does what is asked of the P that runs this goroutine. Returns the M that it runs on afterwards.
inline machine& attend_running(machine& m) noexcept {
  return m.scheduler->upcalls().serve_running(m);
}

/// leave_at_once(), when something is asked of the P.
THRUM_COLD inline void attend_and_leave(machine& m) noexcept { leave_scheduler(attend_running(m)); }

/// The end of an operation that began by enter_scheduler_at_once: a preemption point, as below.
THRUM_INLINE void leave_at_once(machine& m) noexcept {
  if (m.p->attention.get() != 0) [[unlikely]] {
    attend_and_leave(m);
    return;
  }
  leave_scheduler(m);
}

/// The cooperative preemption point at the end of an operation: a load and a branch when no thread
/// asks for the P, nothing on a foreign thread.
inline void preemption_point(section& here) noexcept {
  machine* const m = here.m();
  if (m != nullptr && m->p->attention.get() != 0) [[unlikely]] {
    here.moved_to(attend_running(*m));
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
