// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Ms: how threads come into being, start on a P, and stop.
//
// Three ways to find an M for a P, in this order
//   idle       it sleeps in stop_m
//   preempted  it sleeps in a signal handler, with a goroutine that waits for a P in the global
//              queue (preempt.hpp). Before a new one: see creator.hpp
//   new        the creator makes its thread; the P waits for it
//
// Invariants
//   MT1  an M in the idle list has a thread that has started: a P that is given to it runs at once.
//   MT2  `creating` counts the Ps that wait for a thread; it changes under the lock, as does the
//        list of idle Ms, so that start_m and stop_without_p decide one after the other.
#ifndef THRUM_SCHED_RUN_THREADS_HPP
#define THRUM_SCHED_RUN_THREADS_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/core/scheduler.hpp>

#include <cstdint>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

template <class Traits>
void basic_scheduler<Traits>::start_m(p_type& p, bool spinning) noexcept {
  m_type* m = idle.take_m_locked();
  if (m == nullptr) {
    // No thread is made while a goroutine that waits for a P has one: see creator.hpp.
    if (g_type* const g = global.take_preempted()) {
      m = g->bound;
    }
  }
  if (m != nullptr) {
    idle.lock().unlock();
    pass_p(p, *m, spinning);
    return;
  }
  m = new_m_locked();
  m->awaited = true;
  creating.store(creating.load(relaxed) + 1, relaxed);  // relaxed: locked
  idle.lock().unlock();
  pass_p(p, *m, spinning);  // the new thread's first sleep returns at once
  creator.request(*m);
}

template <class Traits>
basic_m<Traits>* make_spare(basic_scheduler<Traits>& scheduler) noexcept {
  scoped guard(scheduler.idle.lock());
  // relaxed: set under this lock
  if (scheduler.closing.load(relaxed) || scheduler.spare_starts || scheduler.has_spare() ||
      scheduler.live_thread_count() == scheduler.config().max_threads) {
    return nullptr;
  }
  // It enters the idle list itself, as its last step of starting: until then it may need a lock
  // that a goroutine holds which waits for a P, so no P may be given to it.
  scheduler.spare_starts = true;
  return scheduler.new_m_locked();
}

template <class Traits>
basic_m<Traits>* basic_scheduler<Traits>::new_m_locked() noexcept {
  if (m_type* const m = vacant_ms_) {
    vacant_ms_ = m->idle_next;
    vacant_count_.store(vacant_count_.load(relaxed) - 1, relaxed);  // relaxed: locked; a figure
    return m;
  }
  const unsigned id = m_count_.load(relaxed);  // relaxed: locked
  if (id == config_.max_threads) {
    idle.lock().unlock();
    base::message<> text;
    text.append("go: the runtime needs more than ").append(std::uint64_t{config_.max_threads});
    text.append(" threads; too many goroutines are inside blocking calls, or locked ");
    text.append("to their threads, at once; raise options::max_threads or bound their number");
    base::fatal(text.view());
  }
  m_type* m = new (&ms_[id]) m_type(*this, upcalls_, id, seed(id));
  // [s.ms] release: the M, to each walk over all of them.
  m_count_.store(id + 1, release);
  return m;
}

template <class Traits>
bool basic_scheduler<Traits>::stop_m(m_type& m) noexcept {
  THRUM_ASSERT(M1, m.p == nullptr && !m.spinning);
  m.cpu = os::current_cpu();
  {
    scoped guard(idle.lock());
    if (closing.load(relaxed)) {  // relaxed: set under this lock
      return false;
    }
    idle.put_m_locked(m);
    if (held_ps_ != nullptr) [[unlikely]] {
      creator.offer_idle();
    }
    if (idle.idle_ms() > kept_threads() && !has_idle_threads && clock == nullptr) [[unlikely]] {
      has_idle_threads = true;  // GB2
      creator.offer_idle();
    }
    if (clock != nullptr && resume_quiet_locked(*this)) [[unlikely]] {
      [[maybe_unused]] const m_type* const self = idle.take_m_locked();
      THRUM_ASSERT(V3, self == &m);
      acquire_p(m, *idle.take_p_locked());
      idle.begin_spinning(m);
      wake_monitor();
      return true;
    }
  }
  return wait_for_p(m);
}

template <class Traits>
bool basic_scheduler<Traits>::wait_for_p(m_type& m) noexcept {
  m.park.sleep();
  m.park.clear();
  if (m.next_p == nullptr) {
    return false;
  }
  p_type& p = *m.next_p;
  m.next_p = nullptr;
  acquire_p(m, p);
  return true;
}

template <class Traits>
void basic_scheduler<Traits>::take_back(m_type& m) noexcept {
  scoped guard(idle.lock());
  if (!m.awaited) {
    spare_starts = false;
  } else {
    if (m.spinning) {
      idle.end_spinning(m);  // release_held looks for what its search would have found
    }
    creating.store(creating.load(relaxed) - 1, relaxed);  // relaxed: locked
    global.prepend(m.next_p->queue.drain());
    m.next_p->idle_next = held_ps_;
    held_ps_ = m.next_p;
    m.next_p = nullptr;
    m.park.clear();
    if (poll.somebody_sleeps()) {
      poller.wake();  // it comes to stop_m, or finds a P
    }
  }
  vacate_locked(m);
}

template <class Traits>
void basic_scheduler<Traits>::release_held(bool again) noexcept {
  for (;;) {
    p_type* p;
    {
      scoped guard(idle.lock());
      p = again || idle.idle_ms() != 0 ? held_ps_ : nullptr;
      if (p == nullptr) {
        return;
      }
      held_ps_ = p->idle_next;
    }
    if (clock == nullptr) {
      p->timers.run_due(Traits::now());  // perhaps nobody else comes by
    }
    // The thread of a goroutine that is bound to it sleeps without being idle.
    if (g_type* const g =
            global.take([](const g_type& each) { return (each.flags & g_bound) != 0; })) {
      pass_p(*p, *g->bound, false);
    } else {
      hand_off(*p);
    }
  }
}

template <class Traits>
THRUM_COLD bool start_spinner(basic_scheduler<Traits>& scheduler) noexcept {
  scheduler.idle.lock().lock();
  basic_p<Traits>* const p = scheduler.idle.take_p_to_spin_locked();
  if (p == nullptr) {
    scheduler.idle.lock().unlock();
    return false;
  }
  scheduler.start_m(*p, true);
  scheduler.wake_monitor();
  return true;
}

template <class Traits>
void basic_creator<Traits>::wait() noexcept {
  std::int64_t until = retry_at_ < check_at_ ? retry_at_ : check_at_;
  until = give_back_.next() < until ? give_back_.next() : until;
  bool woken = true;
  if (until == never) {
    note_.sleep();
  } else {
    woken = note_.sleep_for(until - Traits::now());
  }
  if (woken) {
    note_.clear_while_woken();
  }
  const std::int64_t now = Traits::now();
  if (now >= check_at_) {
    check_at_ = now + scheduler_.config().check_every_ns;
    if (!scheduler_.exits.load(relaxed)) {  // relaxed: seen in time
      scheduler_.config().check(scheduler_.config().user);
    }
  }
  give_back_.work(now);
  if (retry_at_ != never) {
    const bool again = now >= retry_at_;
    if (again) {
      retry_at_ = never;
    }
    scheduler_.release_held(again);
  }
}

template <class Traits>
void basic_creator<Traits>::run() noexcept {
  os::set_thread_name("thrum/creator");
  if (const std::int64_t period = scheduler_.config().check_every_ns; period != 0) {
    check_at_ = Traits::now() + period;
  }
  for (bool last = false; !last;) {
    wait();
    last = closing_.load(acquire);  // [cr.list] acquire: as in close
    // [cr.list] acquire: the Ms.
    for (m_type* m = first_.exchange(nullptr, acquire); m != nullptr;) {
      m_type* const next = m->idle_next;
      start(*m);
      m = next;
    }
    // relaxed: as in request_dump
    if (dump_wanted_.exchange(false, relaxed) && scheduler_.config().dump != nullptr) {
      scheduler_.config().dump(scheduler_.config().user);
    }
    // relaxed: as in request_spare
    if (spare_wanted_.exchange(false, relaxed) && !last && retry_at_ == never) {
      if (m_type* const spare = make_spare_(scheduler_)) {
        start(*spare);
      }
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
