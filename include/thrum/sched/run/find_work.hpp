// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What an M does that has a P and nothing to run.
//
// The search, in order (Go's findRunnable; what concerns its collector is missing):
//
//   attention        retire the P, run timers that the monitor saw due
//   own timers       those that are due make goroutines runnable here
//   in turn, 1 in 61 the poller, if nobody has polled for a while, and the global queue: so that
//                    nothing there starves behind a busy ring
//   own queue        runnext, then the ring
//   global           a fair share of it
//   poller           without waiting, if goroutines wait there and nobody else polls
//   others           four stealing rounds, if not too many Ms search already
//   give up the P    idle.hpp, I1 to I6
//   sleep            in the poller until the next timer, if nobody does; else on the M's own note
//
// Each source is a function that returns a goroutine or null.
#ifndef THRUM_SCHED_RUN_FIND_WORK_HPP
#define THRUM_SCHED_RUN_FIND_WORK_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/sched/core/scheduler.hpp>
#include <thrum/sched/run/frozen.hpp>
#include <thrum/sched/run/poll_sink.hpp>
#include <thrum/sched/run/procs.hpp>
#include <thrum/sched/run/ready.hpp>
#include <thrum/sched/run/steal.hpp>
#include <thrum/sched/run/threads.hpp>

#include <cstdint>
#include <utility>

namespace thrum::inline THRUM_ABI::sched {

/// Counts a goroutine that did not inherit its predecessor's time slice.
template <class Traits>
void begin_slice(basic_p<Traits>& p) noexcept {
  // relaxed: only the holder writes; the monitor compares two readings
  p.schedule_tick.store(p.schedule_tick.load(relaxed) + 1, relaxed);
}

template <class Traits>
bool global_turn(const basic_p<Traits>& p) noexcept {
  return p.schedule_tick.load(relaxed) % Traits::global_check_interval == 0;  // relaxed: own count
}

/// The slice has been handed on often enough. Where a monitor ends slices by time, that is its
/// business: after so few hand-overs a loop that waits would get a thousand times their share. Else
/// what waits on this P or in the global queue goes first, and `heir` behind the others. It goes
/// on with a slice of its own if nobody waits.
template <class Traits>
THRUM_COLD basic_g<Traits>* end_inheritance(basic_m<Traits>& m, basic_g<Traits>& heir) noexcept {
  basic_p<Traits>& p = *m.p;
  p.inheritances_left = Traits::most_inheritances;
  if (m.scheduler->config().preempts && m.scheduler->clock == nullptr) {
    return &heir;
  }
  begin_slice(p);
  basic_g<Traits>* g = p.queue.pop();
  if (g == nullptr && !m.scheduler->global.empty()) {
    g = m.scheduler->global.pop();
  }
  if (g == nullptr) {
    return &heir;
  }
  push_to_ring(m, heir);
  if (m.scheduler->procs() != 1) {
    m.scheduler->wake_processor();
  }
  return g;
}

/// runnext, else the ring's head. Not under the global queue's lock.
template <class Traits>
basic_g<Traits>* take_local(basic_m<Traits>& m) noexcept {
  basic_p<Traits>& p = *m.p;
  if (basic_g<Traits>* g = p.queue.take_runnext()) {
    if (--p.inheritances_left != 0) [[likely]] {
      return g;
    }
    return end_inheritance(m, *g);
  }
  basic_g<Traits>* g = p.queue.pop();
  if (g != nullptr) {
    begin_slice(p);
  }
  return g;
}

/// One goroutine of the global queue; more of them into the own ring.
template <class Traits>
basic_g<Traits>* take_global(basic_m<Traits>& m) noexcept {
  basic_scheduler<Traits>& scheduler = *m.scheduler;
  if (scheduler.global.empty()) {
    return nullptr;
  }
  auto share = scheduler.global.take_share(scheduler.procs(), Traits::run_queue_capacity / 2);
  basic_g<Traits>* g = share.pop_front();
  if (!share.empty()) {
    m.p->queue.push_batch(share);
    scheduler.global.prepend(static_cast<decltype(share)&&>(share));
  }
  if (g != nullptr) {
    begin_slice(*m.p);
  }
  return g;
}

/// One goroutine of the global queue, on the turn that is reserved for it.
template <class Traits>
basic_g<Traits>* take_global_in_turn(basic_m<Traits>& m) noexcept {
  if (!global_turn(*m.p) || m.scheduler->global.empty()) {
    return nullptr;
  }
  basic_g<Traits>* g = m.scheduler->global.pop();
  if (g != nullptr) {
    begin_slice(*m.p);
  }
  return g;
}

/// The time slice is over: what waits in runnext has shared it and goes behind the others.
template <class Traits>
void end_slice(basic_m<Traits>& m) noexcept {
  if (basic_g<Traits>* g = m.p->queue.take_runnext()) {
    push_to_ring(m, *g);
  }
  begin_slice(*m.p);
}

/// Polls once, without waiting. False: no goroutine waits for a descriptor, or another thread is in
/// the poller already.
template <class Traits>
bool poll_once(basic_scheduler<Traits>& scheduler, basic_poll_sink<Traits>& sink) noexcept {
  return scheduler.poller.descriptors() != 0 &&
         scheduler.poll.look([&] { scheduler.poller.poll(0, sink); }, &Traits::now);
}

/// For a P that has nothing else: the first goroutine, the others to the global queue.
template <class Traits>
basic_g<Traits>* poll_now(basic_m<Traits>& m) noexcept {
  basic_poll_sink<Traits> sink(*m.scheduler);
  if (!poll_once(*m.scheduler, sink)) {
    return nullptr;
  }
  inject(sink);
  return take_global(m);
}

/// Whether nobody has polled for so long that a P that has other work should.
template <class Traits>
bool is_poll_due(basic_scheduler<Traits>& scheduler) noexcept {
  if (scheduler.poller.descriptors() == 0) {
    return false;
  }
  const std::int64_t age = scheduler.clock == nullptr ? Traits::poll_interval_ns : 0;
  return scheduler.poll.is_due(Traits::now(), age);
}

/// For a P that always has something to run. Goroutines that have become ready go into its ring: so
/// they come before those in the global queue that gave way and could have gone on. They alternate
/// with those in the ring already, so that neither wait for all of the others. Those that had moved
/// much stand behind those that gave way.
template <class Traits>
void poll_in_turn(basic_m<Traits>& m) noexcept {
  basic_poll_sink<Traits> sink(*m.scheduler);
  if (!poll_once(*m.scheduler, sink) || sink.ready.size == 0) {
    return;
  }
  polled_goroutines<Traits> found(sink.ready);
  base::intrusive_queue<basic_g<Traits>> waiting = m.p->queue.drain();
  base::intrusive_queue<basic_g<Traits>> all;
  while (basic_g<Traits>* const g = found.others.pop_front()) {
    all.push_back(g);
    if (!waiting.empty()) {
      all.push_back(waiting.pop_front());
    }
  }
  all.append(std::move(waiting));
  m.p->queue.push_batch(all);
  if (!all.empty()) {
    m.scheduler->global.prepend(std::move(all));
  }
  if (!found.returned.empty()) {
    m.scheduler->global.append_returned(std::move(found.returned));
  }
  if (m.scheduler->procs() != 1) {
    m.scheduler->wake_processor();
  }
}

/// Does what was asked of the P. False: the P is gone.
template <class Traits>
THRUM_COLD bool attend(basic_m<Traits>& m) noexcept {
  // [p.attention] acquire: what the asking thread had done before.
  const std::uint32_t asked = m.p->attention.exchange(0, acquire);
  wait_while_frozen(m);
  if ((asked & attention_retire) != 0) {
    m.scheduler->retire_p(m);
    if (m.p == nullptr) {
      return false;
    }
  }
  if (m.scheduler->reserve.is_active()) [[unlikely]] {
    m.p->attention.fetch_or(attention_begin, relaxed);  // relaxed: for ourselves; stays asked
  }
  if ((asked & attention_preempt) != 0) {
    end_slice(m);
  }
  if ((asked & attention_poll) != 0) {
    poll_in_turn(m);
  }
  return true;  // timers are looked at next
}

/// May this M search other Ps? At most half as many spinners as busy Ps, so that a search costs
/// the busy ones little.
template <class Traits>
bool may_spin(const basic_m<Traits>& m) noexcept {
  const auto& scheduler = *m.scheduler;
  return m.spinning || 2 * scheduler.idle.spinning() < scheduler.procs() - scheduler.idle.idle_ps();
}

/// When the first timer of all Ps is due; not after `when`.
template <class Traits>
std::int64_t first_timer(basic_scheduler<Traits>& scheduler, std::int64_t when) noexcept {
  const unsigned n = scheduler.live_p_count();
  for (unsigned i = 0; i < n; ++i) {
    const std::int64_t each = scheduler.p(i).timers.earliest();
    when = each < when ? each : when;
  }
  return when;
}

/// I6: looks at every source once more. True: there is work, and the M holds a P and spins.
template <class Traits>
bool look_again(basic_m<Traits>& m, std::int64_t& next_timer) noexcept {
  basic_scheduler<Traits>& scheduler = *m.scheduler;
  bool work = !scheduler.global.empty();
  const unsigned n = scheduler.live_p_count();
  for (unsigned i = 0; i < n && !work; ++i) {
    work = !scheduler.p(i).queue.empty();
  }
  if (work) {
    scoped guard(scheduler.idle.lock());
    if (basic_p<Traits>* p = scheduler.idle.take_p_locked()) {
      scheduler.acquire_p(m, *p);
      scheduler.idle.begin_spinning(m);
      scheduler.wake_monitor();  // it may have seen all of them idle for a moment
      return true;
    }
    scheduler.idle.ask_for_spinner_locked();
  }
  next_timer = first_timer(scheduler, next_timer);
  return false;
}

/// I1 to I6. Null with a P: search again. Null without: sleep.
template <class Traits>
basic_g<Traits>* give_up_p(basic_m<Traits>& m, std::int64_t& next_timer) noexcept {
  basic_scheduler<Traits>& scheduler = *m.scheduler;
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
    scheduler.put_idle_locked(scheduler.release_p(m));
  }
  if (m.spinning) {
    scheduler.idle.end_spinning(m);
    look_again(m, next_timer);
  }
  return nullptr;
}

/// Waits in the poller until the next timer, unless somebody does already. True: with a P.
template <class Traits>
bool sleep_in_poller(basic_m<Traits>& m, std::int64_t next_timer) noexcept {
  basic_scheduler<Traits>& scheduler = *m.scheduler;
  // Of a virtual clock nobody can sleep a part.
  const bool timed = next_timer != timer_heap<Traits>::never && scheduler.clock == nullptr;
  if (!timed && scheduler.poller.descriptors() == 0) {
    return false;
  }
  if (!scheduler.poll.begin_sleep(timed ? next_timer : poll_turn<Traits>::for_ever)) {
    if (timed && scheduler.poll.oversleeps(next_timer)) {
      scheduler.poller.wake();
    }
    return false;
  }
  // A timer that was armed before begin_sleep() woke nobody in the poller: look once more.
  next_timer = first_timer(scheduler, next_timer);
  std::int64_t delay = -1;
  if (scheduler.clock != nullptr) [[unlikely]] {
    scoped guard(scheduler.idle.lock());
    if (resume_quiet_locked(scheduler)) {
      delay = 0;
    }
  } else if (next_timer != timer_heap<Traits>::never) {
    const std::int64_t left = next_timer - Traits::now();
    delay = left > 0 ? left : 0;
  }
  basic_poll_sink<Traits> sink(scheduler);
  // [s.close] seq_cst: close() wakes the poller after it has set the flag.
  if (!scheduler.closing.load(seq_cst)) {
    scheduler.poller.poll(delay, sink);
  }
  scheduler.poll.end_sleep(Traits::now());

  basic_p<Traits>* p = nullptr;
  if (scheduler.closing.load(seq_cst)) {  // [s.close] seq_cst: as above
    return false;                         // stop_m says so, too
  }
  {
    scoped guard(scheduler.idle.lock());
    p = scheduler.idle.take_p_locked();
    if (p == nullptr) {
      // Every P is busy; their holders see their own timers, and the next idler the others'.
      scheduler.idle.ask_for_spinner_locked();
    }
  }
  if (p != nullptr) {
    scheduler.acquire_p(m, *p);
    scheduler.wake_monitor();
    if (netpoll::ready_node* const first = sink.ready.pop_front()) {
      // One goroutine is no reason to wake another processor. But it may compute for long, and
      // nobody sleeps now until the first timer of the Ps that idle.
      m.pending = static_cast<basic_g<Traits>*>(first);
      if (scheduler.clock == nullptr) {
        scheduler.wake_monitor_for(first_timer(scheduler, timer_heap<Traits>::never));
      }
    } else {
      scheduler.idle.begin_spinning(m);
    }
  }
  inject(sink);
  return p != nullptr;
}

/// Finds a goroutine to run; blocks until there is one. May return holding another P than before.
/// Null: the scheduler closes. Runs on g0.
template <class Traits>
basic_g<Traits>* find_work(basic_m<Traits>& m) noexcept {
  basic_scheduler<Traits>& scheduler = *m.scheduler;
  constexpr std::uint32_t patience = 64;
  for (std::uint32_t in_vain = 0;; ++in_vain) {
    if (in_vain > patience) [[unlikely]] {
      Traits::pause_search();
    }
    if (basic_g<Traits>* const g = m.pending) {
      m.pending = nullptr;
      return g;
    }
    if (m.p == nullptr && !scheduler.stop_m(m)) {
      return nullptr;
    }
    // relaxed: the asking thread sets it again if it is missed by a moment
    if (m.p->attention.load(relaxed) != 0 && !attend(m)) {
      // Not before this M has stopped spinning: it would count itself as one that searches.
      if (m.spinning) {
        scheduler.idle.end_spinning(m);
      }
      scheduler.wake_processor();
      continue;
    }
    bool ran = false;
    std::int64_t next_timer = run_timers(m, *m.p, ran);
    if (ran) {
      // Goroutines that slept go before those in the global queue, which may run for long.
      if (basic_g<Traits>* g = take_local(m)) {
        return g;
      }
    }
    if (global_turn(*m.p) && is_poll_due(scheduler)) {
      poll_in_turn(m);
    }
    if (basic_g<Traits>* g = take_global_in_turn(m)) {
      return g;
    }
    if (basic_g<Traits>* g = take_local(m)) {
      return g;
    }
    if (basic_g<Traits>* g = take_global(m)) {
      return g;
    }
    if (basic_g<Traits>* g = poll_now(m)) {
      return g;
    }
    if (may_spin(m)) {
      if (!m.spinning) {
        scheduler.idle.begin_spinning(m);
      }
      const stolen<Traits> found = steal_work(m);
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
    if (basic_g<Traits>* g = give_up_p(m, next_timer)) {
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

}  // namespace thrum::inline THRUM_ABI::sched

#endif
