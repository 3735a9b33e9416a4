// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Entering and leaving a call that may block the thread.
//
// The M goes into the call and leaves its P behind in state `syscall`, still its own to take back:
// if the call is short, one compare-and-swap does. If it lasts, the monitor's compare-and-swap wins
// instead and hands the P to another M. An M that comes back and finds its P gone looks for an idle
// one, or for one that another has left behind in the same way; if there is none, its goroutine
// goes to the global queue and its thread to sleep. (Go takes only idle ones: 64 goroutines in
// calls of 1 ms on two Ps come back 0.3 ms later.)
//
// The monitor may be asleep for milliseconds when a call begins. So a goroutine whose last call was long
// hands its P over itself if others wait for one. Its last call predicts its next one; the last first call
// on a P predicts a first call there. Only calls that are not known to be short read the clock.
//
// Invariant SY1: a P leaves `syscall` by exactly one successful compare-and-swap.
//
// This is Go's protocol up to 1.25. Since 1.26 the P stays `running` and the goroutine's status
// word decides; that saves one of two atomic operations and costs states in which a goroutine runs
// without a P, which every reader of the status must then tolerate.
#ifndef THRUM_DETAIL_SCHED_RUN_SYSCALL_HPP
#define THRUM_DETAIL_SCHED_RUN_SYSCALL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/detail/sched/run/yield.hpp>
#include <thrum/detail/trace/hooks.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Before a call that may be a long one: if it is, and others wait for a P, they get this one. False: it stays.
THRUM_COLD inline bool hand_over_for_call(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  processor& p = *m.p;
  goroutine& g = *m.g;
  m.call_since = traits::now();
  const bool is_long =
      (g.flags & g_call_flags) != 0 ? (g.flags & g_long_calls) != 0 : p.first_calls_are_long.get();
  if (!is_long || (!p.has_queued() && scheduler.global.empty()) ||
      scheduler.exit_of_process.has_begun()) {
    return false;
  }
  g.status.set(g_status::syscall);
  m.old_p = &p;
  p.syscall_tick.add();
  scheduler.release_p(m);
  scheduler.taken.blocked.fetch_add(1, relaxed);  // relaxed: before the lock of hand_off
  scheduler.hand_offs.add();
  trace_detail::happens_to(scheduler, trace_detail::event_kind::handed_off, p.id, g.id);
  scheduler.hand_off(p);
  return true;
}

inline void set_call_flags(goroutine& g, unsigned flags) noexcept {
  g.flags = static_cast<std::uint8_t>((g.flags & ~unsigned{g_call_flags}) | flags);
}

/// After such a call.
THRUM_COLD inline void note_call(machine& m) noexcept {
  const bool is_long = traits::now() - m.call_since >= traits::long_call_ns;
  m.call_since = 0;
  if ((m.g->flags & g_call_flags) == 0) {
    m.old_p->first_calls_are_long.set(is_long);
  }
  set_call_flags(*m.g, is_long ? g_long_calls : g_short_calls);
}

/// The running goroutine is about to block its thread. Called inside.
inline void enter_syscall(machine& m) noexcept {
  processor& p = *m.p;
  trace_detail::happens(m, trace_detail::event_kind::call_began);
  if ((m.g->flags & g_short_calls) == 0 && hand_over_for_call(m)) [[unlikely]] {
    return;
  }
  m.g->status.set(g_status::syscall);
  m.old_p = &p;
  m.p = nullptr;
  // [p.status >] release: everything we did with the P, to the thread that takes it.
  p.status.store(p_status::syscall, release);
  m.scheduler->monitor.wake_if_all_idle();
}

/// Takes the P from an M that is in a call with it. False: none is.
inline bool take_from_syscall(machine& m, processor& p) noexcept {
  auto expected = p_status::syscall;
  // [p.status <] acquire: what its earlier holders did; SY1. relaxed: the monitor has it
  if (!p.status.compare_exchange_strong(expected, p_status::running, acquire, relaxed)) {
    return false;
  }
  m.p = &p;
  p.m.set(&m);
  p.syscall_tick.add();
  return true;
}

/// As commit_to_global, for one that has found every P busy.
inline bool commit_return(machine& m, goroutine& g, void*) noexcept {
  commit_to_global(m, g, nullptr);
  m.scheduler->monitor.note_return(traits::least_run_ns);  // MS1
  return true;
}

/// A goroutine whose M has no P gets one. Returns the M that it runs on afterwards.
THRUM_COLD inline machine& regain_p(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  if ((m.g->flags & g_short_calls) != 0) {
    set_call_flags(*m.g, 0);  // the next one is measured
  }
  processor* p;
  processor* held = nullptr;
  {
    scoped guard(scheduler.idle.lock());
    scheduler.taken.blocked.fetch_sub(1, relaxed);  // relaxed: under the lock
    p = scheduler.idle.take_p_locked();
    trace_detail::idle_ended(scheduler, p);
    if (p == nullptr) [[likely]] {
      held = scheduler.ms.release_locked();
    }
  }
  if (held != nullptr) [[unlikely]] {
    // This thread is the one that the P has waited for. Others have waited longer than this goroutine.
    scheduler.acquire_p(m, *held);
    return yield_slow(m);
  }
  if (p != nullptr) {
    scheduler.acquire_p(m, *p);
    show_priority(*p, *m.g);
    begin_slice(*p);
    scheduler.monitor.wake_if_all_idle();
    return m;
  }
  // What the monitor would do a moment later.
  const unsigned n = scheduler.ps.live();
  for (unsigned i = 0; i != n; ++i) {
    processor& other = scheduler.ps[i];
    if (other.status.peek() == p_status::syscall && take_from_syscall(m, other)) {
      scheduler.taken.blocked.fetch_add(1, relaxed);  // relaxed: the other M for this one
      show_priority(other, *m.g);
      bool ran = false;
      run_timers(m, other, ran);
      // A P that only ever went from one call to the next would keep the others waiting.
      return !other.has_queued() && scheduler.global.empty() ? m : yield_slow(m);
    }
  }
  return leave(m, static_cast<goroutine*>(nullptr), &commit_return, nullptr);
}

/// It is back, inside. Returns holding a P; the M that it runs on, perhaps another one.
inline machine& exit_syscall(machine& m) noexcept {
  goroutine& g = *m.g;
  if (m.call_since != 0) [[unlikely]] {
    note_call(m);
  }
  // Its own may have been taken and be in another M's call by now; then that one loses it, and is the one
  // that counts as blocked.
  machine& here = take_from_syscall(m, *m.old_p) ? m : regain_p(m);
  trace_detail::happens(here, trace_detail::event_kind::call_ended);
  g.status.set(g_status::running);
  if (is_in_background(g)) [[unlikely]] {
    show_priority(*here.p, g);  // others may have had this P
  }
  return here.p->attention.get() != 0 ? attend_running(here) : here;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
