// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Taking the processor from code that did not ask to be interrupted.
//
// Purpose
//   A goroutine that computes without calling the library must not keep the others from running.
//   C++ has no safe points: what is interrupted may hold malloc's lock, a std::mutex, the cached
//   address of a thread-local. So its stack is never moved to another thread. Its P is.
//
// The hand-over, inside the signal handler (interrupt)
//   H1  not inside the scheduler, and the P is still asked for: else return
//   H2  another M for the P: one that sleeps in H5 itself if it is its turn, else an idle one, else
//       one that sleeps in H5 though it is not its turn (exchange)
//   H3  the goroutine goes to the global queue, or to the background queue, bound to this thread; in
//       front of all there if it was a timer that took the P, and its slice is not over
//   H4  the other M gets the P and is woken
//   H5  sleep, in the handler, on the goroutine's stack position
//   H6  an M that takes the goroutine from the queue gives its P to this M (loop.hpp): return from
//       the handler, and the code goes on where it was: own thread, own stack, own locks
//
// Why it cannot deadlock: no thread has to be made for a lock holder to run again. A goroutine that
// needs malloc's lock, held by another one in H5, blocks; the monitor takes its P (retake.hpp); the
// M that gets the P finds the holder in the global queue. If there is no M at H2, the goroutine
// keeps its P. If no M is spare, H2 asks for one for the next time, and no thread waits for it.
//
// Which M: a system wakes a thread on the CPU where it went to sleep, even if that one is busy and
// the one that we leave is idle, and may see it milliseconds later: ten loops on two CPUs lost 8 %.
// So of the next few goroutines one whose thread went to sleep on this CPU is preferred.
//
// An M whose P was taken while it blocked (retake.hpp) and that computes again without entering the
// library is stopped the same way, at H3 (stop_without_p).
//
// Invariants
//   PR1  the handler calls nothing that locks, but the scheduler's own locks: their holders are
//        inside, and never stopped.
//   PR2  a goroutine in H5 stands in the queue that all Ps share for those of its priority, or an M is
//        about to give it a P.
//
// Rejected: switching stacks inside the handler (unsound in C++, see above); one thread that polls
// all (no signal needed, but every loop must be instrumented: 1.2 to 5 times slower).
//
// Source: Shiina et al., Lightweight Preemptive User-Level Threads, PPoPP 2021 ("KLT-switching").
// Go's preempt.go discusses and rejects this way for a runtime that allocates in its scheduler.
#ifndef THRUM_DETAIL_SCHED_WATCH_PREEMPT_HPP
#define THRUM_DETAIL_SCHED_WATCH_PREEMPT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/freeze/freeze_holder.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/detail/sched/run/end.hpp>
#include <thrum/detail/sched/run/latency.hpp>
#include <thrum/detail/sched/run/syscall.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

// ---- the answer to the monitor -----------------------------------------------------------------

/// The M has entered and found the monitor at work: keeps its P, or learns that it is gone. Inside.
inline bool keeps_p(machine& m) noexcept {
  for (std::uint32_t turn = 0;; ++turn) {
    // [m.retake <] acquire: what the monitor has decided.
    retake_state state = m.retake.load(acquire);
    if (state == retake_state::none) {
      return true;
    }
    if (state == retake_state::taken) {
      return false;
    }
    if (state == retake_state::forked) {
      refuse_after_fork();
    }
    // [m.retake <>] acq_rel: this M or the monitor wins; if R3 fails, this M has kept its P. The
    // monitor may have been through R3 and R4 since our load: then what it read in R4 comes before
    // what we change next. relaxed: looks at it again
    if (state == retake_state::wanted &&
        m.retake.compare_exchange_strong(state, retake_state::none, acq_rel, relaxed)) {
      return true;
    }
    traits::back_off(turn);  // the monitor is between two of its steps
  }
}

/// The P that was taken is no longer this M's.
inline void forget_p(machine& m) noexcept {
  m.p = nullptr;
  // [m.retake >] release: the monitor need not watch this M any more.
  m.retake.store(retake_state::none, release);
}

/// The way out of enter_scheduler (section.hpp) when the monitor wants the P, or has it.
THRUM_COLD inline machine& answer_monitor(machine& m) noexcept {
  if (keeps_p(m)) {
    return m;
  }
  goroutine& g = *m.g;
  forget_p(m);
  if (m.unresponsive.load(relaxed)) {      // relaxed: published by `retake`
    m.unresponsive.store(false, relaxed);  // relaxed: the monitor sets it again if need be
    os::unblock_preempt_signal();
  }
  machine& here = regain_p(m);
  trace_detail::happens(here, trace_detail::event_kind::call_ended);
  g.status.set(g_status::running);
  wait_if_frozen(here);
  return here;
}

// ---- the handler -------------------------------------------------------------------------------

/// Calls `give_up(m)`, H2 to H4, and if that has found another M, sleeps until this one is given a
/// P, H5 and H6. All of it with a frame like a parked one: a dump of the goroutine, once it
/// stands in the queue, shows where it was interrupted.
inline void stop_in_handler(machine& m, bool (*give_up)(machine&) noexcept) noexcept {
  goroutine& g = *m.g;
  struct call {
    machine& m;
    bool (*give_up)(machine&) noexcept;
    bool slept;
  } own{m, give_up, false};
  arch::call_as_parked(
      g.sp_slot(),
      [](void* argument) noexcept {
        auto& here = *static_cast<call*>(argument);
        here.slept = here.give_up(here.m);
        if (here.slept) {
          here.m.scheduler->wait_for_p(here.m);
          // Here, as another thread may look at this frame until the freeze has ended.
          traits::light_fence();  // [fz.phase =] as in wait_if_frozen
          wait_while_frozen(here.m);
        }
      },
      &own);
  if (!own.slept) {
    return;
  }
  if (m.spinning) {
    // Started as one that searches: it has found something.
    m.scheduler->idle.end_spinning(m);
    m.scheduler->wake_processor_after_rmw();
  }
  m.p->resumed_at.store(traits::now(), relaxed);  // relaxed: published by the next
  // [p.resumed >] release: the clock's reading.
  m.p->resumed_tick.store(m.p->schedule_tick.get(), release);
  if (m.p->timers.size() != 0) {
    traits::fence(seq_cst);  // [mon.until =] the P runs, before the monitor's plan is read
    m.scheduler->monitor.wake_for(m.p->timers.earliest());
  }
  show_priority(*m.p, g);
  m.p->counts.switches.add();
  trace_detail::continues(m, g);
  if (g.thread_locks == 0) {
    unbind(m, g);
  }
  g.status.set(g_status::running);
}

/// Whether it was interrupted for a timer before its slice was over: then it goes on as soon as the
/// goroutines of due timers have run. If others came first, each timer would move the P to one more
/// thread.
inline bool has_time_left(goroutine& g, std::int64_t ran_ns, std::int64_t slice_ns) noexcept {
  g.ran_ns += ran_ns;
  if (g.ran_ns < slice_ns) {
    return true;
  }
  g.ran_ns = 0;
  return false;
}

/// Whether nothing waits for this very P.
inline bool is_alone(const machine& m) noexcept {
  const processor& p = *m.p;
  return !p.has_queued() && m.scheduler->next_timer(p) > traits::now();
}

/// H2, when no M idles: the M of one that sleeps in H5. Null: there is none.
inline machine* find_stopped(machine& m, bool share) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  goroutine* other = share ? scheduler.background.take_preempted() : nullptr;
  if (other == nullptr) {
    other = scheduler.global.take_preempted();
  }
  if (other == nullptr && is_in_background(*m.g)) {
    other = scheduler.background.take_preempted();
  }
  if (other == nullptr) {
    return nullptr;
  }
  scheduler.taken.exchanges.add();
  return other->bound;
}

/// H2. Null: there is no M to take the P.
inline machine* find_taker(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  m.cpu = os::current_cpu();
  if (!scheduler.has_spare()) {
    // An M for the next time: an exchange serves neither timers nor goroutines that have not begun.
    scheduler.creator.request_spare();
  }
  const auto is_here = [&](const machine& each) { return each.cpu == m.cpu; };
  // A P that is to retire, or to give a turn to the background, needs an M that looks for work, and not
  // one that computes.
  // If it is missed, the next search does it.
  const std::uint32_t asked = m.p->attention.get();
  const bool retires = (asked & attention_retire) != 0;
  const bool share = (asked & attention_share) != 0;
  if (is_alone(m) && !retires && !share) {
    const std::uint32_t most = 2 * scheduler.procs();  // before all others have had a turn, twice
    if (goroutine* const other = scheduler.global.take_preempted_in_turn(
            [&](const goroutine& each) { return is_here(*each.bound); }, most)) {
      return other->bound;
    }
  }
  machine* idle;
  {
    scoped guard(scheduler.idle.lock());
    idle = scheduler.idle.take_m_locked(is_here);
  }
  return idle != nullptr || retires ? idle : find_stopped(m, share);
}

/// H2 to H4. False: there is no M to take the P. PR1: of the locks here no stopped thread has
/// one.
inline bool hand_over(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  goroutine& g = *m.g;
  machine* const taker = find_taker(m);
  if (taker == nullptr) {
    return false;
  }
  m.p->counts.preemptions.add();
  count_cut_slice(m);
  trace_detail::happens(m, trace_detail::event_kind::interrupted);
  // [p.attention <] acquire: as in attend. What else is asked stays asked.
  m.p->attention.fetch_and(~std::uint32_t{attention_preempt}, acquire);
  const std::int64_t ran_ns = m.p->slice_ran_ns.get();
  end_slice(m);
  processor& p = scheduler.release_p(m);
  bind(m, g);
  // [g.status >] release: its frame.
  g.status.store(g_status::preempted, release);
  const bool next = has_time_left(g, ran_ns, scheduler.config().time_slice_ns);
  scheduler.queue_for(g).push_preempted(g, next);  // PR2: from here on
  scheduler.pass_p(p, *taker, false);
  if (scheduler.idle.idle_ps() != 0) {
    scheduler.wake_processor();
  }
  return true;
}

/// H3 for a thread that lost its P while it blocked, and computes again. False: not now.
inline bool stop_without_p(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  {
    // Under the lock, as start_m looks for such a goroutine and then resorts to a new thread: that
    // thread may need a lock that this goroutine holds.
    scoped guard(scheduler.idle.lock());
    if (scheduler.ms.is_awaited_locked()) {
      return false;  // the monitor comes again
    }
    goroutine& g = *m.g;
    m.cpu = os::current_cpu();
    scheduler.taken.blocked.fetch_sub(1, relaxed);  // relaxed: under the lock
    forget_p(m);
    trace_detail::happens(m, trace_detail::event_kind::interrupted);
    bind(m, g);
    // [g.status >] release: its frame. Without a P, no freeze stops this thread before it sleeps.
    g.status.store(g_status::preempted, release);
    scheduler.queue_for(g).push_preempted(g, false);
  }
  scheduler.taken.without_p.add();
  scheduler.wake_processor();
  return true;
}

/// The handler. Runs on the M's signal stack, wherever its thread was.
inline void interrupt(void* argument) noexcept {
  auto& m = *static_cast<machine*>(argument);
  // It was sent to a thread that has ended since; this thread has its number now.
  if (!m.self.is_calling_thread()) {
    return;
  }
  m.heard.add();
  if constexpr (base::signals_are_deferred) {
    // It was kept with the goroutine, which has changed threads meanwhile.
    if (current_m() != &m) {
      return;
    }
  }
  if (m.inside.load(relaxed) != 0) {  // relaxed: written by this thread
    return;  // H1. The request stands, and is served at the end of the operation.
  }
  m.inside.store(1, relaxed);  // relaxed: ordered by the fence of [m.inside]
  traits::light_fence();       // [m.inside =] as in enter_scheduler
  // relaxed: ordered by the fence of [m.inside]
  if (m.retake.load(relaxed) != retake_state::none && !keeps_p(m)) {
    stop_in_handler(m, &stop_without_p);
  } else if (m.p != nullptr) {
    // [p.attention <] acquire: as in attend.
    const std::uint32_t asked = m.p->attention.fetch_and(~std::uint32_t{attention_freeze}, acquire);
    if ((asked & attention_freeze) != 0) {
      wait_while_frozen(m);
    }
    if ((asked & attention_preempt) != 0) {
      stop_in_handler(m, &hand_over);
    }
  }
  leave_scheduler(m);
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
