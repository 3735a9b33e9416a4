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

/// YQ3: the stack is left.
inline bool commit_unlock_yielded(machine& m, goroutine&, void*) noexcept {
  m.p->yielded.lock().unlock();
  return true;
}

/// For commit_unlock_yielded when one more waits here than before.
inline bool commit_unlock_and_wake(machine& m, goroutine&, void*) noexcept {
  m.p->yielded.lock().unlock();
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

/// Yields of a P between two looks at how many wait on another one.
inline constexpr std::uint32_t yields_between_looks = 16 * traits::global_check_interval;

/// One other P, the next each time: half of the goroutines that wait there after a yield more than here
/// come to this P.
THRUM_COLD inline void level_yielded(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  processor& p = *m.p;
  p.turns_since_look = 0;
  const unsigned live = scheduler.ps.live();
  do {
    p.levelled_with = (p.levelled_with + 1) % live;
  } while (p.levelled_with == p.id && live > 1);
  processor& other = scheduler.ps[p.levelled_with];
  if (&other == &p || other.yielded.size() <= p.yielded.size()) {
    return;
  }
  auto taken = other.yielded.take_surplus(p.yielded.size());
  p.counts.steals.add(taken.size());
  trace_detail::happens(m, trace_detail::event_kind::stolen, taken.size(), other.id);
  p.yielded.append(static_cast<decltype(taken)&&>(taken));
}

/// At global_turn(), of a goroutine that yields.
THRUM_COLD inline void level_in_turn(machine& m) noexcept {
  if (++m.p->turns_since_look * traits::global_check_interval >= yields_between_looks) {
    level_yielded(m);
  }
}

/// The running goroutine gives way and lets g0 choose.
THRUM_COLD inline machine& give_way(machine& m) noexcept {
  return leave(m, static_cast<goroutine*>(nullptr), &commit_behind, nullptr);
}

/// Gosched: behind all that wait on this P, if anything else can run here. One of background priority
/// goes to its own queue, by yield_slow (BG2).
///
/// The lock of `yielded` is held from the look at its head until the goroutine has left its stack, so
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
  } else {
    if (is_turn_of_g0(m)) {
      here.moved_to(yield_slow(m));
      return;
    }
    level_in_turn(m);
  }
  goroutine& g = *m.g;
  if (next == nullptr) {
    if (!scheduler.global.empty() && (p.global_is_next || p.yielded.empty())) {
      next = take_global(m);
    }
    if (next == nullptr && !p.yielded.empty()) {  // YQ1
      p.yielded.lock().lock();
      if ((next = p.yielded.exchange_locked(g)) != nullptr) {
        p.global_is_next = true;
        begin_slice(p);
        g.status.set(g_status::runnable);
        here.moved_to(leave(m, next, &commit_unlock_yielded, nullptr));
        return;
      }
      p.yielded.lock().unlock();
    }
    if (next == nullptr && (next = take_local(m)) == nullptr) {
      count_turn(p);
      return;
    }
  }
  g.status.set(g_status::runnable);
  p.yielded.lock().lock();
  p.yielded.push_back_locked(g);
  here.moved_to(leave(m, next, &commit_unlock_and_wake, nullptr));
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
