// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The lines of figures that THRUM_DEBUG=schedtrace=1000 prints every second, in Go's words; with
// scheddetail=1 a line for each P, M and G too.
//
// What has no counterpart here keeps its place, so that tools for Go's lines work: mallocing, dying
// and stopwait are 0, preemptoff is empty, gcwaiting says whether the goroutines are stopped to be
// looked at, and locks whether the thread is inside the scheduler.
//
// The monitor prints them, so nothing here allocates, and the figures are not of one instant.
#ifndef THRUM_DETAIL_DEBUG_SCHEDTRACE_HPP
#define THRUM_DETAIL_DEBUG_SCHEDTRACE_HPP

#include <thrum/debug/stats.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

using namespace base::orders;

using trace_line = base::message<1024>;

constexpr std::string_view describe(bool b) noexcept { return b ? "true" : "false"; }

/// "p=3", or "p=nil".
template <class Object, class Number>
THRUM_NO_TSAN void append_id(trace_line& line, std::string_view key, const Object* object,
                             Number Object::*id) noexcept {
  line.append(key);
  if (object != nullptr) {
    line.append(object->*id);
  } else {
    line.append("nil");
  }
}

[[gnu::cold]] inline void append_summary(trace_line& line, sched::runtime_scheduler& scheduler,
                                         std::int64_t now, bool detailed) noexcept {
  constexpr unsigned helpers = 2;  // the monitor and the creator
  line.append("SCHED ").append((now - scheduler.started_at) / 1'000'000).append("ms:");
  line.append(" gomaxprocs=").append(scheduler.procs());
  line.append(" idleprocs=").append(scheduler.idle.idle_ps());
  line.append(" threads=").append(scheduler.ms.with_thread() + helpers);
  line.append(" spinningthreads=").append(scheduler.idle.spinning());
  if (detailed) {
    line.append(" needspinning=").append(scheduler.idle.spinner_wanted_locked() ? 1 : 0);
  }
  line.append(" idlethreads=").append(scheduler.idle.idle_ms());
  line.append(" runqueue=").append(scheduler.global.size());
  if (const std::size_t n = scheduler.background.size(); n != 0) {
    line.append(" background=").append(n);  // not in Go's
  }
}

/// Not in Go's: half and 99 % of what was counted took less.
[[gnu::cold]] inline void append_latencies(trace_line& line,
                                           sched::runtime_scheduler& scheduler) noexcept {
  thrum::latencies all;
  scheduler.for_each_p([&](const sched::processor& p) { add_latencies(all, p.latencies); });
  const auto append = [&](std::string_view key, const latency_histogram& one) noexcept {
    if (one.total() != 0) {
      line.append(key).append(one.quantile(0.5).count() / 1000).append("/");
      line.append(one.quantile(0.99).count() / 1000).append("us");
    }
  };
  append(" ready=", all.ready);
  append(" poll=", all.poll);
  append(" slice=", all.slice);
  append(" timer=", all.timer);
}

[[gnu::cold]] THRUM_NO_TSAN inline void append_p(trace_line& line,
                                                 const sched::processor& p) noexcept {
  line.append("  P").append(p.id);
  line.append(": status=").append(static_cast<unsigned>(p.status.peek()));
  line.append(" schedtick=").append(p.schedule_tick.get());
  line.append(" syscalltick=").append(p.syscall_tick.get());
  append_id(line, " m=", p.m.peek(), &sched::machine::id);
  line.append(" runqsize=").append(p.queued());
  line.append(" gfreecnt=").append(p.free_gs.size());
  line.append(" timerslen=").append(p.timers.size()).append("\n");
}

[[gnu::cold]] THRUM_NO_TSAN inline void append_m(trace_line& line,
                                                 sched::runtime_scheduler& scheduler,
                                                 const sched::machine& m) noexcept {
  const sched::processor* held = nullptr;
  scheduler.for_each_p([&](const sched::processor& p) { held = p.m.peek() == &m ? &p : held; });
  const sched::goroutine* const g = m.g;
  line.append("  M").append(m.id).append(":");
  append_id(line, " p=", held, &sched::processor::id);
  append_id(line, " curg=", g, &sched::goroutine::id);
  line.append(" mallocing=0 throwing=0 preemptoff= locks=");
  line.append(m.inside.peek());
  line.append(" dying=0 spinning=").append(describe(m.spinning));
  line.append(" blocked=").append(describe(held == nullptr));
  const sched::goroutine* const locked = m.locked_g;
  append_id(line, " lockedg=", locked, &sched::goroutine::id);
  line.append("\n");
}

[[gnu::cold]] THRUM_NO_TSAN inline void append_g(trace_line& line, const sched::goroutine& g,
                                                 const sched::machine* on) noexcept {
  const sched::g_status status = g.status.peek();
  line.append("  G").append(g.id).append(": status=").append(static_cast<unsigned>(status));
  line.append("(");
  if (status == sched::g_status::waiting) {
    line.append(sched::describe(g.reason.peek()));
  }
  line.append(")");
  append_id(line, " m=", on, &sched::machine::id);
  const sched::machine* const bound = g.thread_locks != 0 ? g.bound : nullptr;
  append_id(line, " lockedm=", bound, &sched::machine::id);
  line.append("\n");
}

/// Writes one line to standard error.
[[gnu::cold]] inline void schedtrace(sched::runtime_scheduler& scheduler,
                                     std::int64_t now) noexcept {
  trace_line line;
  append_summary(line, scheduler, now, false);
  line.append(" [");
  for (unsigned i = 0; i < scheduler.procs(); ++i) {
    line.append(i == 0 ? "" : " ").append(scheduler.ps[i].queued());
  }
  line.append("]");
  append_latencies(line, scheduler);
  line.append("\n");
  base::write_error(line.view());
}

/// The M on which a goroutine runs, or null; a guess.
THRUM_NO_TSAN inline const sched::machine* find_m_of(sched::runtime_scheduler& scheduler,
                                                     const sched::goroutine& g) noexcept {
  for (unsigned i = 0; i < scheduler.ms.made(); ++i) {
    if (scheduler.ms[i].g == &g) {
      return &scheduler.ms[i];
    }
  }
  for (unsigned i = 0; i < scheduler.hosts.made(); ++i) {
    if (scheduler.hosts[i].m.g == &g) {
      return &scheduler.hosts[i].m;
    }
  }
  return nullptr;
}

/// Writes the summary and a line for each P, M and G.
[[gnu::cold]] THRUM_NO_TSAN inline void scheddetail(sched::runtime_scheduler& scheduler,
                                                    std::int64_t now) noexcept {
  const auto flush = [](trace_line& line) {
    base::write_error(line.view());
    line.clear();
  };
  trace_line line;
  append_summary(line, scheduler, now, true);
  line.append(" gcwaiting=")
      .append(describe(sched::freeze_state::is_frozen(scheduler.freeze.own_phase())));
  // relaxed: a figure for reports
  line.append(" nmidlelocked=").append(scheduler.locked_asleep.load(relaxed));
  line.append(" stopwait=0 sysmonwait=");
  line.append(describe(scheduler.monitor.is_asleep())).append("\n");
  flush(line);
  scheduler.for_each_p([&](sched::processor& p) {
    append_p(line, p);
    flush(line);
  });
  const unsigned threads = scheduler.ms.made();
  for (unsigned i = 0; i < threads; ++i) {
    append_m(line, scheduler, scheduler.ms[i]);
    flush(line);
  }
  for (unsigned i = 0; i < scheduler.hosts.made(); ++i) {
    append_m(line, scheduler, scheduler.hosts[i].m);
    flush(line);
  }
  scheduler.pool->for_each([&](sched::goroutine& g) {
    const sched::g_status status = g.status.peek();
    if (status == sched::g_status::idle || status == sched::g_status::dead) {
      return;
    }
    append_g(line, g, find_m_of(scheduler, g));
    flush(line);
  });
}

}}}  // namespace thrum::THRUM_ABI::debug

#endif
