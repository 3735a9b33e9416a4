// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What debug/stats.hpp declares: the bodies that are not inlined.
#ifndef THRUM_DEBUG_STATS_DEFINITION_HPP
#define THRUM_DEBUG_STATS_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/debug/stats.hpp>
#include <thrum/sched/core/scheduler.hpp>
#include <thrum/sched/core/section.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

using namespace base::orders;

THRUM_OUT_OF_LINE stats_snapshot collect(sched::runtime_scheduler& scheduler) {
  stats_snapshot s;
  s.local_queues.reserve(scheduler.procs());
  s.procs = scheduler.procs();
  s.idle_procs = scheduler.idle.idle_ps();
  s.threads = scheduler.ms.with_thread();
  s.idle_threads = scheduler.idle.idle_ms();
  s.spinning = scheduler.idle.spinning();
  s.global_queue = scheduler.global.size();
  s.background_queue = scheduler.background.size();
  // relaxed: a figure for reports
  s.hand_offs = scheduler.hand_offs.load(relaxed);
  s.signals = scheduler.taken.signals.load(relaxed);              // relaxed: a figure for reports
  s.exchanges = scheduler.taken.exchanges.load(relaxed);          // relaxed: a figure for reports
  s.retakes = scheduler.taken.retakes.load(relaxed);              // relaxed: a figure for reports
  s.stopped_without_p = scheduler.taken.without_p.load(relaxed);  // relaxed: a figure for reports
  {
    const sched::section here;
    s.stack_bytes = scheduler.pool->reserved_bytes();
  }
  scheduler.for_each_p([&](sched::processor& p) {
    if (p.id < s.procs) {
      s.local_queues.push_back(p.queue.size() + (p.queue.peek_runnext() != nullptr ? 1 : 0));
    }
    s.finished += p.counts.finished.get();
    s.switches += p.counts.switches.get();
    s.steals += p.counts.steals.get();
    s.preemptions += p.counts.preemptions.get();
    {
      const sched::section here;
      s.timers += p.timers.armed();
    }
    s.timers_fired += p.counts.timers.get();
  });
  scheduler.for_each_p([&](const sched::processor& p) { s.created += p.counts.created.get(); });
  s.created += scheduler.created_elsewhere();
  s.goroutines = s.created - s.finished;
  scheduler.pool->for_each([&](sched::goroutine& g) {
    switch (g.status.load(relaxed)) {  // relaxed: a figure for reports
      case sched::g_status::runnable: ++s.runnable; break;
      case sched::g_status::running:
      case sched::g_status::preempted: ++s.running; break;
      case sched::g_status::waiting:
        ++s.waiting;
        if (sched::is_polled(g.reason.load(relaxed))) {  // relaxed: a figure for reports
          ++s.polled_descriptors;
        }
        break;
      case sched::g_status::syscall: ++s.in_syscall; break;
      case sched::g_status::idle:
      case sched::g_status::dead: break;
    }
  });
  return s;
}

}}}  // namespace thrum::THRUM_ABI::debug

#endif
