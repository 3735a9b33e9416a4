// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many Ps there are.
//
// The number of processors changes without stopping the world (Go stops it): Ps are never freed,
// so a reader with an old number sees at worst an empty queue. A surplus P that idles dies under
// the lock; one that is held is asked to, by attention_retire, and its holder gives it up the next
// time it schedules. Searches walk the Ps below p_table::live(), which falls when the last ones are
// dead: a program that once had 4,096 processors does not pay for them for ever.
// Searches for forks walk those below p_table::forking(), which the monitor lowers when the last goroutine
// has ended that forks on a dead one.
//
// If there is one P, a waker wakes no M for what it makes runnable (has_other_ps): it queues the work
// before it reads the number, and set_procs writes the number before it starts a search.
//
// Fences of [s.procs]: has_other_ps, make_host, set_procs.
//
// Checked by tests/model/procs_model.cpp, which runs it.
#ifndef THRUM_DETAIL_SCHED_CORE_PROCS_HPP
#define THRUM_DETAIL_SCHED_CORE_PROCS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE int runtime_scheduler::set_procs(unsigned n) noexcept {
  struct exclusive {
    explicit exclusive(runtime_scheduler& of) noexcept : scheduler(of) {
      of.freeze.begin_exclusive();
    }
    ~exclusive() { scheduler.freeze.end_exclusive(); }
    runtime_scheduler& scheduler;
  } const one_at_a_time(*this);
  const unsigned before = procs();
  if (const int error = ps.make(n); error != 0) {
    return error;
  }
  {
    scoped guard(idle.lock());
    ps.want_locked(n);
    trace_detail::procs_changed(*this, n);
    idle.expect_locked(n);
    if (n > before) {
      idle.take_request();  // the wake-up below serves it
    }
    for (unsigned i = before; i < n; ++i) {
      processor& p = ps[i];
      // [p.attention <>] acq_rel: takes the request back; the holder has not yet seen it if it is
      // set.
      p.attention.fetch_and(~std::uint32_t{attention_retire}, acq_rel);
      if (config_.migrates) {
        p.attention.fetch_or(attention_migrate, acq_rel);  // [p.attention <>] acq_rel: likewise
      }
      if (p.status.get() == p_status::dead) {
        p.status.set(p_status::idle);
        trace_detail::idle_began(*this, p);
        idle.put_p_locked(p);
      }
    }
    for (unsigned i = n; i < before; ++i) {
      processor& p = ps[i];
      if (idle.remove_p_locked(p)) {
        trace_detail::idle_ended(*this, &p);
        bury_locked(p);
      } else {
        // [p.attention <>] acq_rel: the holder sees it when it schedules next.
        p.attention.fetch_or(attention_retire, acq_rel);
      }
    }
  }
  if (n > before) {
    if (before == 1) {
      traits::heavy_fence();  // [s.procs =] the number before the search; see has_other_ps
    }
    wake_processor();
  }
  return 0;
}

THRUM_OUT_OF_LINE std::int64_t runtime_scheduler::give_timers_away(processor& p) noexcept {
  const std::int64_t first = p.timers.earliest();
  // A P that hands its timers on does so under the lock: see stop() in life/shutdown.hpp.
  scoped guard(idle.lock());
  if (p.timers.size() == 0 || discards_timers) {
    return timer_heap<traits>::never;
  }
  ps[0].timers.take_all(p.timers);
  return first;
}

THRUM_OUT_OF_LINE void runtime_scheduler::bury_locked(processor& p) noexcept {
  // [p.attention <>] acq_rel: nothing is asked of a dead P.
  p.attention.exchange(0, acq_rel);
  if (p.timers.size() != 0 && !discards_timers) {
    ps[0].timers.take_all(p.timers);
    // P 0 may be busy with one goroutine for long; an M that searches finds the timers there.
    // [p.attention <>] acq_rel: seen when its holder schedules next.
    ps[0].attention.fetch_or(attention_timers, acq_rel);
  }
  // [p.status >] release: last, so that set_procs finds it complete.
  p.status.store(p_status::dead, release);
  ps.forget_dead_locked();
}

THRUM_OUT_OF_LINE void runtime_scheduler::retire_p(machine& m) noexcept {
  processor& p = *m.p;
  {
    scoped guard(idle.lock());
    if (p.id < procs()) {
      return;  // the number has risen again
    }
    global.prepend(p.drain());
    pool->put(config_.stack_class, p.free_gs.take_all());
    release_p(m);
    bury_locked(p);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
