// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How long goroutines wait to run, and how long they run: samples, always taken.
//
// A clock costs more than a switch, so few goroutines are timed. The owner of a runnable goroutine, before it
// queues the goroutine, notes the time and sets g_timed. A switch looks at the flags of both goroutines
// anyway (g_bound): so a goroutine that is not timed costs no instruction there. The flag stays until the
// goroutine leaves, and its slice is counted, too, if no other goroutine has had the P meanwhile.
//
// Timed are
//   ready  each goroutine that comes to slot 0 of a ring, one of 256 that are queued behind others; one of
//          16 that a thread without a P makes ready
//   poll   the last goroutine of each eighth poll that finds some
//   slice  the slices of these goroutines, and each slice that a preemption ends
//   timer  the earliest timer of each pass over due timers
//
// A goroutine that carries values of a thread (carried_value.hpp) has the flag for as long, for the same
// reason: they are exchanged with those of the thread where it is looked at. It is not timed.
#ifndef THRUM_DETAIL_SCHED_RUN_LATENCY_HPP
#define THRUM_DETAIL_SCHED_RUN_LATENCY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Notes that g can run from now on. Called by its owner, before g is queued.
THRUM_COLD inline void time_wait(goroutine& g, bool is_polled = false) noexcept {
  if ((g.flags & g_timed) != 0) {
    return;
  }
  g.flags |= g_timed;
  g.ready_at = traits::now();
  g.is_polled = is_polled;
}

/// For one of 16 goroutines that threads without a P make ready.
inline void time_wait_in_turn(runtime_scheduler& scheduler, goroutine& g) noexcept {
  const std::uint32_t n = scheduler.readied_elsewhere.get();
  scheduler.readied_elsewhere.set(n + 1);
  if (n % 16 == 0) {
    time_wait(g);
  }
}

/// The poller has returned with goroutines: the last of them is timed, each eighth time.
template <class Sink>
void time_last(Sink& sink) noexcept {
  if (sink.ready.size == 0) {
    return;
  }
  const std::uint32_t n = sink.scheduler.fruitful_polls.get();
  sink.scheduler.fruitful_polls.set(n + 1);
  if (n % 8 == 0) {
    time_wait(*static_cast<goroutine*>(sink.ready.tail), true);
  }
}

/// On the thread where a goroutine is about to run: it gets the values that the goroutine carries. The oldest
/// first: a newer one may be of the same variable.
THRUM_COLD inline void bring_carried(carried* each) noexcept {
  while (each->older != nullptr) {
    each = each->older;
  }
  for (; each != nullptr; each = each->newer) {
    each->exchange_now(*each);
  }
}

/// On the thread that a goroutine leaves: it gets its own values back.
THRUM_COLD inline void take_carried(carried* each) noexcept {
  for (; each != nullptr; each = each->older) {
    each->exchange_now(*each);
  }
}

/// A timed goroutine is about to run on the P that m holds, and is not counted among its switches yet.
THRUM_COLD inline void end_timed_wait(machine& m, const goroutine& g) noexcept {
  if (g.newest_carried != nullptr) {
    bring_carried(g.newest_carried);
    return;
  }
  processor& p = *m.p;
  const std::int64_t now = traits::now();
  (g.is_polled ? p.latencies.poll : p.latencies.ready).add(now - g.ready_at);
  p.slice_from = now;
  p.slice_of = p.counts.switches.get() + 1;
}

/// A timed goroutine leaves the M, which may have lost its P meanwhile.
THRUM_COLD inline void end_timed_slice(machine& m, goroutine& g) noexcept {
  if (g.newest_carried != nullptr) {
    take_carried(g.newest_carried);
    return;
  }
  g.flags &= static_cast<std::uint8_t>(~g_timed);
  processor* const p = m.p;
  if (p != nullptr && p->slice_of == p->counts.switches.get()) {
    p->latencies.slice.add(traits::now() - p->slice_from);
  }
}

/// Timers have fired, and the earliest so late.
inline void count_lateness(machine& m, std::int64_t ns) noexcept { m.p->latencies.timer.add(ns); }

/// The monitor has ended the slice of the running goroutine, and says how long it was.
inline void count_cut_slice(machine& m) noexcept {
  if (m.g->newest_carried == nullptr) {
    m.g->flags &= static_cast<std::uint8_t>(~g_timed);
  }
  m.p->latencies.slice.add(m.p->slice_ran_ns.get());
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
