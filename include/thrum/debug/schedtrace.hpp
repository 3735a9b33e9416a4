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
#ifndef THRUM_DEBUG_SCHEDTRACE_HPP
#define THRUM_DEBUG_SCHEDTRACE_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/order.hpp>
#include <thrum/sched/core/scheduler.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

using namespace base::orders;

using trace_line = base::message<1024>;

constexpr std::string_view describe(bool b) noexcept { return b ? "true" : "false"; }

/// "p=3", or "p=nil".
template <class Object, class Number>
void append_id(trace_line& line, std::string_view key, const Object* object,
               Number Object::*id) noexcept {
  line.append(key);
  if (object != nullptr) {
    line.append(object->*id);
  } else {
    line.append("nil");
  }
}

template <class Traits>
void append_summary(trace_line& line, sched::basic_scheduler<Traits>& scheduler, std::int64_t now,
                    bool detailed) noexcept {
  constexpr unsigned helpers = 2;  // the monitor and the creator
  line.append("SCHED ").append((now - scheduler.started_at) / 1'000'000).append("ms:");
  line.append(" gomaxprocs=").append(scheduler.procs());
  line.append(" idleprocs=").append(scheduler.idle.idle_ps());
  line.append(" threads=").append(scheduler.live_thread_count() + helpers);
  line.append(" spinningthreads=").append(scheduler.idle.spinning());
  if (detailed) {
    line.append(" needspinning=").append(scheduler.idle.spinner_wanted_locked() ? 1 : 0);
  }
  line.append(" idlethreads=").append(scheduler.idle.idle_ms());
  line.append(" runqueue=").append(scheduler.global.size());
}

template <class Traits>
std::uint32_t queued(const sched::basic_p<Traits>& p) noexcept {
  return p.queue.size() + (p.queue.peek_runnext() != nullptr ? 1 : 0);
}

template <class Traits>
THRUM_NO_TSAN void append_p(trace_line& line, const sched::basic_p<Traits>& p) noexcept {
  line.append("  P").append(p.id);
  // relaxed: figures
  line.append(": status=").append(static_cast<unsigned>(p.status.load(relaxed)));
  line.append(" schedtick=").append(p.schedule_tick.load(relaxed));   // relaxed: a figure
  line.append(" syscalltick=").append(p.syscall_tick.load(relaxed));  // relaxed: a figure
  // relaxed: a figure
  append_id(line, " m=", p.m.load(relaxed), &sched::basic_m<Traits>::id);
  line.append(" runqsize=").append(queued(p));
  line.append(" gfreecnt=").append(p.free_count);
  line.append(" timerslen=").append(p.timers.size()).append("\n");
}

template <class Traits>
THRUM_NO_TSAN void append_m(trace_line& line, sched::basic_scheduler<Traits>& scheduler,
                            const sched::basic_m<Traits>& m) noexcept {
  const sched::basic_p<Traits>* held = nullptr;
  scheduler.for_each_p([&](const sched::basic_p<Traits>& p) {
    held = p.m.load(relaxed) == &m ? &p : held;  // relaxed: a figure
  });
  const sched::basic_g<Traits>* const g = m.g;
  line.append("  M").append(m.id).append(":");
  append_id(line, " p=", held, &sched::basic_p<Traits>::id);
  append_id(line, " curg=", g, &sched::basic_g<Traits>::id);
  line.append(" mallocing=0 throwing=0 preemptoff= locks=");
  line.append(m.inside.load(relaxed));  // relaxed: a figure
  line.append(" dying=0 spinning=").append(describe(m.spinning));
  line.append(" blocked=").append(describe(held == nullptr));
  const sched::basic_g<Traits>* const locked = m.locked_g;
  append_id(line, " lockedg=", locked, &sched::basic_g<Traits>::id);
  line.append("\n");
}

template <class Traits>
THRUM_NO_TSAN void append_g(trace_line& line, const sched::basic_g<Traits>& g,
                            const sched::basic_m<Traits>* on) noexcept {
  const sched::g_status status = g.status.load(relaxed);  // relaxed: a figure
  line.append("  G").append(g.id).append(": status=").append(static_cast<unsigned>(status));
  line.append("(");
  if (status == sched::g_status::waiting) {
    line.append(sched::describe(g.reason.load(relaxed)));  // relaxed: a figure
  }
  line.append(")");
  append_id(line, " m=", on, &sched::basic_m<Traits>::id);
  const sched::basic_m<Traits>* const bound = g.thread_locks != 0 ? g.bound : nullptr;
  append_id(line, " lockedm=", bound, &sched::basic_m<Traits>::id);
  line.append("\n");
}

/// Writes one line to standard error.
template <class Traits>
void schedtrace(sched::basic_scheduler<Traits>& scheduler, std::int64_t now) noexcept {
  trace_line line;
  append_summary(line, scheduler, now, false);
  line.append(" [");
  for (unsigned i = 0; i < scheduler.procs(); ++i) {
    line.append(i == 0 ? "" : " ").append(queued(scheduler.p(i)));
  }
  line.append("]\n");
  base::write_error(line.view());
}

/// The M on which a goroutine runs, or null; a guess.
template <class Traits>
THRUM_NO_TSAN const sched::basic_m<Traits>* find_m_of(sched::basic_scheduler<Traits>& scheduler,
                                                      const sched::basic_g<Traits>& g) noexcept {
  for (unsigned i = 0; i < scheduler.thread_count(); ++i) {
    if (scheduler.m(i).g == &g) {
      return &scheduler.m(i);
    }
  }
  return nullptr;
}

/// Writes the summary and a line for each P, M and G.
template <class Traits>
THRUM_NO_TSAN void scheddetail(sched::basic_scheduler<Traits>& scheduler,
                               std::int64_t now) noexcept {
  const auto flush = [](trace_line& line) {
    base::write_error(line.view());
    line.clear();
  };
  trace_line line;
  append_summary(line, scheduler, now, true);
  // relaxed: figures
  line.append(" gcwaiting=").append(describe(scheduler.freeze.phase.load(relaxed) % 2 != 0));
  line.append(" nmidlelocked=").append(scheduler.locked_asleep.load(relaxed));  // relaxed: a figure
  line.append(" stopwait=0 sysmonwait=");
  line.append(describe(scheduler.monitor_sleeps.load(relaxed))).append("\n");  // relaxed: a figure
  flush(line);
  scheduler.for_each_p([&](sched::basic_p<Traits>& p) {
    append_p(line, p);
    flush(line);
  });
  const unsigned threads = scheduler.thread_count();
  for (unsigned i = 0; i < threads; ++i) {
    append_m(line, scheduler, scheduler.m(i));
    flush(line);
  }
  scheduler.pool->for_each([&](sched::basic_g<Traits>& g) {
    const sched::g_status status = g.status.load(relaxed);  // relaxed: a figure
    if (status == sched::g_status::idle || status == sched::g_status::dead) {
      return;
    }
    append_g(line, g, find_m_of(scheduler, g));
    flush(line);
  });
}

}}}  // namespace thrum::THRUM_ABI::debug

#endif
