// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What an M does that has a P and nothing to run.
//
// The search, in order (Go's findRunnable; what concerns its collector is missing):
//
//   attention        retire the P, run timers that the monitor saw due, a background goroutine if some
//                    have waited for long
//   own timers       those that are due make goroutines runnable here
//   in turn, 1 in 61 the poller, if no thread has polled for a while, a background goroutine, and the
//                    global queue: so that nothing there starves behind a busy ring
//   own queue        runnext, then the ring
//   behind it        one that yielded here, or a fair share of the global queue, in turns
//   background       if it has just run such a goroutine, and no thread wants help (background.hpp)
//   poller           without waiting, if goroutines wait there and no other thread polls
//   others           four stealing rounds, if not too many Ms search already
//   forks            the oldest half of a fork that any goroutine offers (fork.hpp), also if too many
//                    search: so no P is given up while the goroutine that forked waits for the
//                    other half without knowing
//   background       goroutines of background priority, one at a time
//   give up the P    idle.hpp, I1 to I6
//   sleep            in the poller until the next timer, if no thread does; else on the M's own note
//
// Each source is a function that returns a goroutine or null.
//
// Checked by tests/model/idle_protocol_model.cpp and timer_wake_model.cpp, which run it.
#ifndef THRUM_DETAIL_SCHED_RUN_FIND_WORK_HPP
#define THRUM_DETAIL_SCHED_RUN_FIND_WORK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/fork/fork_thief.hpp>
#include <thrum/detail/sched/run/attend.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/detail/sched/run/latency.hpp>
#include <thrum/detail/sched/run/leave_poller.hpp>
#include <thrum/detail/sched/run/poll_sink.hpp>
#include <thrum/detail/sched/run/steal.hpp>
#include <thrum/detail/sched/run/take.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The first goroutine that a poll has found, or null: for the M that polls, as one is no reason to
/// wake another processor.
inline goroutine* pop_first(poll_sink& sink) noexcept {
  auto* const first = static_cast<goroutine*>(sink.ready.pop_front());
  if (first != nullptr) {
    first->moved_much = false;
  }
  return first;
}

/// For a P that has nothing else: the first goroutine, the others to the global queue.
///
/// Two goroutines that answer each other over a pipe stay on one P: a wake-up for each answer, of a
/// thread that finds nothing, cost a third of a round trip.
inline goroutine* poll_now(machine& m) noexcept {
  poll_sink sink(*m.scheduler);
  if (!poll_once(*m.scheduler, sink)) {
    return nullptr;
  }
  goroutine* const first = pop_first(sink);
  inject(sink);
  if (first != nullptr) {
    if ((first->flags & g_outside_ring) == 0) [[likely]] {
      begin_slice(*m.p);
      leave_poller(m, *first);
      return first;
    }
    ready_outside_ring(*first);
  }
  goroutine* const g = take_global(m);
  // A select that learned of an event is runnable here: see callback_point.
  return g != nullptr ? g : take_local(m);
}

/// May this M search other Ps? At most half as many spinners as busy Ps, so that a search costs
/// the busy ones little. One whose P is to go out of service counts as busy: the last M that finds
/// nothing must have searched, since only a searcher looks again (I6).
inline bool may_spin(const machine& m) noexcept {
  const auto& scheduler = *m.scheduler;
  if (m.spinning) {
    return true;
  }
  const unsigned live = scheduler.ps.live();  // first: of those that idle there are no more
  return traits::busy_per_spinner * scheduler.idle.spinning() < live - scheduler.idle.idle_ps();
}

/// I6: looks at every source once more. If there is work, and a P, the M holds that P and spins
/// afterwards; otherwise `next_timer` is the first of all.
inline void look_again(machine& m, std::int64_t& next_timer) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  if (scheduler.has_queued_work()) {
    scoped guard(scheduler.idle.lock());
    if (processor* p = scheduler.idle.take_p_locked()) {
      trace_detail::idle_ended(scheduler, p);
      scheduler.acquire_p(m, *p);
      scheduler.idle.begin_spinning(m);
      scheduler.monitor.wake_if_all_idle();  // it may have seen all of them idle for a moment
      return;
    }
    scheduler.ask_for_spinner_locked();
  }
  next_timer = scheduler.first_timer(next_timer);
}

/// I1 to I6. Null with a P: search again. Null without: sleep.
inline goroutine* give_up_p(machine& m, std::int64_t& next_timer) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  {
    scoped guard(scheduler.idle.lock());
    if (!scheduler.global.empty()) {
      return take_global(m);
    }
    if (scheduler.idle.spinner_wanted_locked()) {
      if (m.spinning) {
        scheduler.idle.take_request();
      } else {
        scheduler.idle.begin_spinning(m);
      }
      return nullptr;
    }
    trace_detail::idle_began(scheduler, *m.p);
    scheduler.put_idle_locked(scheduler.release_p(m));
  }
  if (m.spinning) {
    scheduler.idle.end_spinning(m);
    look_again(m, next_timer);
  }
  return nullptr;
}

/// Waits in the poller until the next timer, unless another thread does already. True: with a P.
inline bool sleep_in_poller(machine& m, std::int64_t next_timer) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  // No thread can sleep until a moment of a virtual clock.
  const bool timed = next_timer != timer_heap<traits>::never && !scheduler.clock.is_virtual();
  if (!timed && scheduler.poller.descriptors() == 0) {
    return false;
  }
  if (!scheduler.poll.begin_sleep(timed ? next_timer : poll_turn<traits>::for_ever)) {
    if (timed && scheduler.poll.oversleeps(next_timer)) {
      scheduler.poller.wake();
    }
    return false;
  }
  if (scheduler.ms.holds_back()) [[unlikely]] {
    // stop_m offers this M; take_back wakes it if it has come here too early to see that.
    scheduler.poll.end_sleep(traits::now());
    return false;
  }
  // A timer that was armed before begin_sleep() woke no thread in the poller: look once more.
  next_timer = scheduler.first_timer(next_timer);
  std::int64_t delay = -1;
  if (scheduler.clock.is_virtual()) [[unlikely]] {
    scoped guard(scheduler.idle.lock());
    if (scheduler.resume_quiet_locked()) {
      delay = 0;
    }
  } else if (next_timer != timer_heap<traits>::never) {
    const std::int64_t left = next_timer - traits::now();
    delay = left > 0 ? left : 0;
  }
  poll_sink sink(scheduler);
  // [s.close =] seq_cst: close() wakes the poller after it has set the flag.
  if (!scheduler.closing.load(seq_cst)) {
    scheduler.poller.poll(delay, sink);
    trace_detail::polled(scheduler, sink.ready.size);
    time_last(sink);
  }
  scheduler.poll.end_sleep(traits::now());

  processor* p = nullptr;
  if (scheduler.closing.load(seq_cst)) {  // [s.close =] seq_cst: as in close
    return false;                         // stop_m says so, too
  }
  {
    scoped guard(scheduler.idle.lock());
    p = scheduler.idle.take_p_locked();
    trace_detail::idle_ended(scheduler, p);
    if (p == nullptr) {
      // Every P is busy; their holders see their own timers, and the next idler the others'.
      scheduler.ask_for_spinner_locked();
    }
  }
  if (p != nullptr) {
    scheduler.acquire_p(m, *p);
    scheduler.monitor.wake_if_all_idle();
    goroutine* const first = pop_first(sink);
    if (first == nullptr || is_in_background(*first)) {
      scheduler.idle.begin_spinning(m);
      if (first != nullptr) {
        ready_outside_ring(*first);
      }
    } else {
      // It may compute for long, and no thread sleeps now until the first timer of the idle Ps.
      m.pending = first;
      if (!scheduler.clock.is_virtual()) {
        scheduler.monitor.wake_for(scheduler.first_timer(timer_heap<traits>::never));
      }
    }
  }
  inject(sink);
  if (m.pending != nullptr) {
    leave_poller(m, *m.pending);
  }
  return p != nullptr;
}

/// Finds a goroutine to run; blocks until there is one. May return holding another P than before.
/// Null: the scheduler closes. Runs on g0.
inline goroutine* find_work(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  constexpr std::uint32_t patience = 64;
  for (std::uint32_t in_vain = 0;; ++in_vain) {
    if (in_vain > patience) [[unlikely]] {
      traits::pause_search();
    }
    if (goroutine* const g = m.pending) {
      m.pending = nullptr;
      return g;
    }
    if (m.p == nullptr && !scheduler.stop_m(m)) {
      return nullptr;
    }
    bool was_low = false;
    if (const std::uint32_t asked = m.p->attention.get(); asked != 0) {
      was_low = (asked & attention_low) != 0;
      if (!attend(m)) {
        // Not before this M has stopped spinning: it would count itself as one that searches.
        if (m.spinning) {
          scheduler.idle.end_spinning(m);
        }
        scheduler.wake_processor();
        continue;
      }
      if (m.pending != nullptr) {
        continue;
      }
    }
    bool ran = false;
    std::int64_t next_timer = run_timers(m, *m.p, ran);
    if (ran) {
      // Goroutines that slept go before those in the global queue, which may run for long.
      if (goroutine* g = take_local(m)) {
        return g;
      }
    }
    if (global_turn(*m.p)) {
      if (is_poll_due(scheduler)) {
        poll_in_turn(m);
      }
      if (goroutine* g = take_background_in_turn(m)) {
        return g;
      }
      if (goroutine* g = take_behind_ring_in_turn(m)) {
        return g;
      }
    }
    if (goroutine* g = take_local(m)) {
      return g;
    }
    if (goroutine* g = take_behind_ring(m)) {
      return g;
    }
    if (was_low && may_follow(scheduler)) {
      if (goroutine* g = take_background(m)) {
        return g;
      }
    }
    if (goroutine* g = poll_now(m)) {
      return g;
    }
    if (may_spin(m)) {
      if (!m.spinning) {
        scheduler.idle.begin_spinning(m);
      }
      const stolen found = steal_work(m);
      if (found.g != nullptr) {
        begin_slice(*m.p);
        return found.g;
      }
      if (found.ran_timers) {
        continue;
      }
      if (found.next_timer < next_timer) {
        next_timer = found.next_timer;
      }
    }
    if (goroutine* g = take_forked(m)) {
      return g;
    }
    if (goroutine* g = take_background(m)) {
      return g;
    }
    if (goroutine* g = give_up_p(m, next_timer)) {
      return g;
    }
    if (m.p == nullptr) {
      in_vain = 0;
      if (!sleep_in_poller(m, next_timer) && !scheduler.stop_m(m)) {
        return nullptr;
      }
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
