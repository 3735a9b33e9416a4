// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Ms: how threads come into being, start on a P, and stop.
//
// Three ways to find an M for a P, in this order
//   idle       it sleeps in stop_m
//   preempted  it sleeps in a signal handler, with a goroutine that waits for a P in the global
//              queue, or in the background queue (preempt.hpp). Before a new one: see thread_creator.hpp
//   new        the creator makes its thread; the P waits for it
// Where max_threads allows no other one, the P is held back as one whose thread the system has refused
// (thread_table.hpp): a running M takes its work, and the first M that idles takes the P. Where each thread
// is in a call that blocks, or sleeps with the goroutine that is locked to it, work waits for the end of a
// call, and a message says so once. Where all threads sleep with their goroutines it could wait for ever:
// that ends the program.
//
// Invariants
//   MT1  an M in the idle list has a thread that has started: a P that is given to it runs at once.
// MT2 to MT4 are in thread_table.hpp.
//
// Checked by tests/model/idle_protocol_model.cpp, which runs start_m, stop_m and hand_off, and by
// threads_model.cpp, where the system refuses threads.
#ifndef THRUM_DETAIL_SCHED_THREAD_THREADS_HPP
#define THRUM_DETAIL_SCHED_THREAD_THREADS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/core/virtual_time.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <cstdint>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE void runtime_scheduler::start_m(processor& p, bool spinning) noexcept {
  machine* m = idle.take_m_locked();
  if (m == nullptr) {
    // No thread is made while a goroutine that waits for a P has one: see thread_creator.hpp.
    goroutine* g = global.take_preempted();
    if (g == nullptr) {
      g = background.take_preempted();
    }
    if (g != nullptr) {
      m = g->bound;
      if (!has_spare()) {
        creator
            .request_spare();  // or goroutines in calls that block would wait for this one each time
      }
    }
  }
  if (m != nullptr) {
    idle.lock().unlock();
    pass_p(p, *m, spinning);
    return;
  }
  if (ms.with_thread() == config_.max_threads) [[unlikely]] {
    hold_back_at_limit_locked(p, spinning);
    return;
  }
  m = new_m_locked();
  ms.begin_locked(*m);
  idle.lock().unlock();
  pass_p(p, *m, spinning);  // the new thread's first sleep returns at once
  creator.request(*m);
}

inline machine* make_spare(runtime_scheduler& scheduler) noexcept {
  scoped guard(scheduler.idle.lock());
  if (scheduler.closing.get() || scheduler.has_spare() ||
      scheduler.ms.with_thread() == scheduler.config().max_threads ||
      !scheduler.ms.claim_spare_locked()) {
    return nullptr;
  }
  // It enters the idle list itself, as its last step of starting: until then it may need a lock
  // that a goroutine holds which waits for a P, so no P may be given to it.
  return scheduler.new_m_locked();
}

THRUM_OUT_OF_LINE machine* runtime_scheduler::new_m_locked() noexcept {
  machine* const m = ms.take_locked(config_.max_threads, [this](void* place, unsigned id) {
    return ::new (place) machine(*this, upcalls_, id, seed(id));
  });
  THRUM_ASSERT(another_thread_is_allowed, m != nullptr);
  if (m == nullptr) {
    __builtin_unreachable();  // the callers have compared the number of threads; gcc would warn
  }
  return m;
}

[[noreturn]] THRUM_COLD inline void refuse_more_threads(unsigned most) noexcept {
  base::message<> text;
  text.append("go: the runtime needs more than ").append(std::uint64_t{most});
  text.append(" threads; too many goroutines are locked to their threads at once; ");
  text.append("raise options::max_threads or bound their number");
  base::fatal(text.view());
}

THRUM_COLD inline void report_blocked_threads(unsigned most) noexcept {
  base::message<512> text("thrum: go: all ");
  text.append(std::uint64_t{most});
  text.append(
      " threads of this runtime are inside blocking calls, or locked to goroutines that wait; ");
  text.append("other goroutines wait until one of the calls returns; ");
  text.append("raise options::max_threads or bound the number of blocking calls\n");
  base::write_error(text.view());
}

THRUM_OUT_OF_LINE void runtime_scheduler::hold_back_at_limit_locked(processor& p,
                                                                    bool spinning) noexcept {
  global.append(p.yielded.drain());  // take_bound looks there
  if (goroutine* const g = take_bound()) {
    idle.lock().unlock();
    pass_p(p, *g->bound, spinning);
    return;
  }
  const bool has_work = p.has_queued() || has_shared_work() || has_forks();
  // relaxed: a thread that comes back says so before it takes the lock
  const std::uint32_t asleep = locked_asleep.load(relaxed);
  if (has_work && asleep >= ms.with_thread()) {
    idle.lock().unlock();
    refuse_more_threads(config_.max_threads);
  }
  // relaxed: as above
  const bool reports =
      has_work && !has_reported_limit && taken.blocked.load(relaxed) + asleep >= ms.with_thread();
  has_reported_limit = has_reported_limit || reports;
  if (spinning) {
    idle.give_back_unit();  // release_held looks for what its search would have found
  }
  hold_back_locked(p);
  idle.lock().unlock();
  creator.offer_idle();  // it tries again now and then
  if (reports) [[unlikely]] {
    report_blocked_threads(config_.max_threads);
  }
}

/// The first that can run on one thread only, which sleeps without being idle. Null: there is none.
THRUM_OUT_OF_LINE goroutine* runtime_scheduler::take_bound() noexcept {
  const auto is_bound = [](const goroutine& each) {
    return (each.flags & (g_bound | g_on_host)) == g_bound;
  };
  goroutine* const g = global.take(is_bound);
  return g != nullptr ? g : background.take(is_bound);
}

THRUM_OUT_OF_LINE void runtime_scheduler::hold_back_locked(processor& p) noexcept {
  global.prepend(p.drain());
  ms.hold_back_locked(p);
  if (poll.somebody_sleeps()) {
    poller.wake();  // it comes to stop_m, or finds a P
  }
}

THRUM_OUT_OF_LINE bool runtime_scheduler::stop_m(machine& m) noexcept {
  THRUM_ASSERT(m_that_sleeps_has_no_p, m.p == nullptr && !m.spinning);
  m.cpu = os::current_cpu();
  {
    scoped guard(idle.lock());
    if (closing.get()) {
      return false;
    }
    idle.put_m_locked(m);  // MT1: this thread is it
    if (ms.holds_back()) [[unlikely]] {
      creator.offer_idle();
    }
    if (idle.idle_ms() > kept_threads() && !has_idle_threads && !clock.is_virtual()) [[unlikely]] {
      has_idle_threads = true;  // GB2
      creator.offer_idle();
    }
    if (clock.is_virtual() && resume_quiet_locked()) [[unlikely]] {
      [[maybe_unused]] const machine* const self = idle.take_m_locked();
      THRUM_ASSERT(own_m_was_the_last, self == &m);
      acquire_p(m, *idle.take_p_locked());
      trace_detail::idle_ended(*this, m.p);
      idle.begin_spinning(m);
      monitor.wake_if_all_idle();
      return true;
    }
  }
  return wait_for_p(m);
}

THRUM_OUT_OF_LINE bool runtime_scheduler::wait_for_p(machine& m) noexcept {
  m.park.sleep();
  m.park.clear();
  if (m.next_p == nullptr) {
    return false;
  }
  processor& p = *m.next_p;
  m.next_p = nullptr;
  acquire_p(m, p);
  return true;
}

THRUM_OUT_OF_LINE void runtime_scheduler::take_back(machine& m) noexcept {
  scoped guard(idle.lock());
  if (!m.awaited) {
    ms.end_spare_locked();
  } else {
    if (m.spinning) {
      idle.end_spinning(m);  // release_held looks for what its search would have found
    }
    ms.end_locked();
    processor& p = *m.next_p;
    m.next_p = nullptr;
    m.park.clear();
    hold_back_locked(p);
    if (idle.idle_ms() != 0) {
      creator.offer_idle();  // they have come to stop_m before
    }
  }
  ms.vacate_locked(m);
  ms.set_limit(ms.with_thread());
}

THRUM_OUT_OF_LINE void runtime_scheduler::release_held(bool again) noexcept {
  bool released = false;
  processor* p = nullptr;
  for (;;) {
    {
      scoped guard(idle.lock());
      if (ms.is_first_held_locked(p)) {
        break;  // again: there are no threads for the others either
      }
      p = again || idle.idle_ms() != 0 ? ms.release_locked() : nullptr;
      if (p == nullptr) {
        break;
      }
      released = true;
    }
    if (!clock.is_virtual()) {
      p->timers.run_due(traits::now());  // perhaps no other thread runs them
    }
    goroutine* const g = take_bound();
    if (g != nullptr) {
      pass_p(*p, *g->bound, false);
    } else {
      hand_off(*p);
    }
  }
  if (released) {
    look_for_refused();
  }
}

// Work that was queued on other Ps while the refused M was to search has woken no M, and hand_off looks
// at no other P than its own. The fence of I5 was take_back's. If no M sleeps in the poller, no other M is
// started for a timer: hand_off has sent one there, or a P is busy, and the monitor sees to it. (If another M
// was started for it and refused, too, it would bring the first back from the poller, and so on.)
THRUM_OUT_OF_LINE void runtime_scheduler::look_for_refused() noexcept {
  if (has_queued_work()) {
    wake_processor();
    return;
  }
  const std::int64_t next_timer = first_timer(timer_heap<traits>::never);
  if (next_timer != timer_heap<traits>::never && poll.somebody_sleeps() &&
      poll.oversleeps(next_timer)) {
    poller.wake();
  }
}

/// There is work and no P idles. One that runs a background goroutine is to be had soon.
inline void hurry_background(runtime_scheduler& scheduler) noexcept {
  bool runs = false;
  scheduler.for_each_live_p(
      [&](processor& p) { runs = runs || (p.attention.get() & attention_low) != 0; });
  if (runs) {
    scheduler.monitor.wake_for(traits::now());
  }
}

THRUM_COLD inline bool start_spinner(runtime_scheduler& scheduler, searchers which) noexcept {
  scheduler.idle.lock().lock();
  if (which == searchers::all && scheduler.idle.idle_ps() == 0 && scheduler.hosts.wake_one_locked())
      [[unlikely]] {
    scheduler.idle.lock().unlock();
    return true;
  }
  processor* const p = scheduler.idle.take_p_to_spin_locked();
  if (p == nullptr) {
    if (which == searchers::ms) {
      // While the request stands no host is woken for work.
      scheduler.hosts.nudge_impatient_locked();
    }
    scheduler.idle.lock().unlock();
    if (which == searchers::all || !scheduler.global.empty()) {
      hurry_background(scheduler);
    }
    return false;
  }
  trace_detail::idle_ended(scheduler, p);
  scheduler.start_m(*p, true);
  scheduler.monitor.wake_if_all_idle();
  return true;
}

THRUM_OUT_OF_LINE void runtime_scheduler::hand_off(processor& p) noexcept {
  const auto has_work = [&] { return p.has_queued() || has_shared_work() || has_forks(); };
  if ((p.attention.get() & attention_low) != 0) {
    // relaxed: its next holder shows what it runs
    p.attention.fetch_and(~std::uint32_t{attention_low}, relaxed);
  }
  if (has_work()) {
    idle.lock().lock();
    start_m(p, false);
    return;
  }
  // No M searches, and none could: this P's next M must, or work that arrives now finds no taker.
  if (idle.claim_first_spinner()) {
    idle.lock().lock();
    start_m(p, true);
    return;
  }
  idle.lock().lock();
  // Or more than one: what is out of service idles nowhere.
  const bool last_busy = idle.idle_ps() + 1 >= procs();
  if (has_shared_work() || (last_busy && poller_is_wanted())) {
    start_m(p, false);
    return;
  }
  if (idle.spinner_wanted_locked()) {
    idle.add_unit();
    start_m(p, true);
    return;
  }
  const std::int64_t when = p.timers.earliest();
  trace_detail::idle_began(*this, p);
  put_idle_locked(p);
  if (clock.is_virtual() && resume_quiet_locked()) [[unlikely]] {
    idle.add_unit();
    processor& next = *idle.take_p_locked();
    trace_detail::idle_ended(*this, &next);
    start_m(next, true);
    monitor.wake_if_all_idle();
    return;
  }
  idle.lock().unlock();
  if (when != timer_heap<traits>::never) {
    wake_for_timer(when);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif  // THRUM_DETAIL_SCHED_THREAD_THREADS_HPP
