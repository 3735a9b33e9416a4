// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// ready(g): a parked or new goroutine may run.
//
// On a P of its own runtime it goes to runnext, so that what was just made runnable runs next, on
// a warm cache, and inherits the rest of the time slice; the one that stood there goes to the
// ring's tail. From any other thread it goes to the global queue. One of background priority goes to
// the queue of those, wherever it is made ready (background.hpp).
//
// Is an idle P worth waking for it? For a goroutine in the ring: yes, it waits behind another. For
// one in runnext it depends: a pair that hands the processor back and forth needs no other P, a
// producer that goes on computing does. Waking costs 16 us, a hand-off 20 ns, so the P learns:
// see processor::wake_credit.
#ifndef THRUM_DETAIL_SCHED_RUN_READY_HPP
#define THRUM_DETAIL_SCHED_RUN_READY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/run/latency.hpp>
#include <thrum/detail/trace/hooks.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Puts goroutines into the tail of the P's ring, what does not fit to the global queue.
inline void push_to_ring(machine& m, goroutine& g) noexcept {
  auto overflow = m.p->queue.push(&g);
  if (!overflow.empty()) [[unlikely]] {
    m.scheduler->global.append(static_cast<decltype(overflow)&&>(overflow));
  }
}

/// Spends a credit of the P on waking an idle P for its runnext, if one idles and too few Ms spin.
inline void wake_for_runnext(machine& m) noexcept {
  auto& credit = m.p->wake_credit;
  // Thieves and the monitor may overwrite it
  const std::uint32_t left = credit.get();
  if (left != 0 && m.scheduler->idle.claim_wake()) [[unlikely]] {
    if (m.scheduler->wake_claimed()) {
      credit.set(left - 1);
    }
  }
}

/// Makes a goroutine runnable that may run on one host only. From any thread.
THRUM_COLD inline void ready_on_host(goroutine& g) noexcept {
  runtime_scheduler& scheduler = *g.scheduler;
  g.status.set(g_status::runnable);
  // Once queued, the goroutine may run and end, and its runtime be destroyed: that waits for us.
  scheduler.wakers.enter();
  if (!g.bound->as_host->inbox.push(g)) {
    g.bound = nullptr;
    g.flags &= static_cast<std::uint8_t>(~(g_bound | g_on_host));
    scheduler.queue_for(g).push_back(g);
    scheduler.wake_processor();
  }
  scheduler.wakers.leave();
}

/// Makes a goroutine runnable that stands in no P's queue. From any thread.
THRUM_COLD inline void ready_outside_ring(goroutine& g) noexcept {
  if ((g.flags & g_on_host) != 0) {
    ready_on_host(g);
    return;
  }
  runtime_scheduler& scheduler = *g.scheduler;
  g.status.set(g_status::runnable);
  scheduler.wakers.enter();  // as in ready_elsewhere
  scheduler.background.push_back(g);
  scheduler.wake_processor();
  scheduler.wakers.leave();
}

/// ready_behind() where the wait is to be timed, or the ring is full: a function of its own, so that ready_behind()
/// keeps nothing for it.
THRUM_COLD inline void ready_behind_slow(machine& m, goroutine& g) noexcept {
  if (m.p->queue.begins_anew()) {
    time_wait(g);
  }
  push_to_ring(m, g);
  if (m.scheduler->has_other_ps()) {
    m.scheduler->wake_processor();
  }
}

/// Puts g at the tail of the ring and wakes an idle P that may take it.
THRUM_NOINLINE inline void ready_behind(machine& m, goroutine& g) noexcept {
  if (m.p->queue.begins_anew() || !m.p->queue.try_push(&g)) [[unlikely]] {
    ready_behind_slow(m, g);
    return;
  }
  if (m.scheduler->has_other_ps()) {
    m.scheduler->wake_processor();
  }
}

/// Makes g runnable on the P that m holds: it runs as soon as the running one parks. `flags`: those of g.
THRUM_INLINE void ready_next(machine& m, goroutine& g, std::uint8_t flags) noexcept {
  if ((flags & g_outside_ring) != 0) [[unlikely]] {
    ready_outside_ring(g);
    return;
  }
  g.status.set(g_status::runnable);
  if (goroutine* const kicked = m.p->queue.exchange_runnext(&g)) {
    ready_behind(m, *kicked);
  } else if (m.scheduler->has_other_ps()) {
    wake_for_runnext(m);
  }
}

/// Makes g runnable on the P that m holds: with `next` as by ready_next, else behind the others.
inline void ready_on(machine& m, goroutine& g, bool next) noexcept {
  if (next) {
    ready_next(m, g, g.flags);
    return;
  }
  if ((g.flags & g_outside_ring) != 0) [[unlikely]] {
    ready_outside_ring(g);
    return;
  }
  g.status.set(g_status::runnable);
  ready_behind(m, g);
}

/// Wakes a processor for goroutines that a thread without a P has put into the global queue. If all Ps are busy and
/// no M searches, the monitor soon looks whether a P runs a CPU-bound goroutine, as for those that return from calls.
inline void wake_for_global(runtime_scheduler& scheduler) noexcept {
  scheduler.wake_processor();
  if (scheduler.idle.idle_ps() + scheduler.idle.spinning() == 0) {
    scheduler.monitor.note_return(traits::least_run_ns);
  }
}

/// Makes g runnable from a thread that holds no P of g's runtime.
inline void ready_elsewhere(goroutine& g) noexcept {
  if ((g.flags & g_outside_ring) != 0) [[unlikely]] {
    ready_outside_ring(g);
    return;
  }
  runtime_scheduler& scheduler = *g.scheduler;
  g.status.set(g_status::runnable);
  // Once queued, the goroutine may run and end, and its runtime be destroyed: that waits for us.
  scheduler.wakers.enter();
  time_wait_in_turn(scheduler, g);
  scheduler.global.push_back(g);
  wake_for_global(scheduler);
  scheduler.wakers.leave();
}

/// Makes goroutines of one runtime runnable, in their order: the first one next. Their status says so
/// already. Any thread may call it. They may run, end and be gone before it returns.
inline void ready_all(runtime_scheduler& scheduler,
                      base::intrusive_queue<goroutine>&& gs) noexcept {
  machine* const m = current_m();
  trace_detail::readied_all(m, gs);
  if (m == nullptr || m->p == nullptr || m->scheduler != &scheduler) {
    scheduler.wakers.enter();  // as in ready_elsewhere
    scheduler.global.append(static_cast<decltype(gs)&&>(gs));
    wake_for_global(scheduler);
    scheduler.wakers.leave();
    return;
  }
  if (goroutine* const kicked = m->p->queue.exchange_runnext(gs.pop_front())) {
    push_to_ring(*m, *kicked);
  }
  m->p->queue.push_batch(gs);
  if (!gs.empty()) {
    scheduler.global.append(static_cast<decltype(gs)&&>(gs));
  }
  if (scheduler.has_other_ps()) {
    scheduler.wake_processor();
  }
}

/// Makes a goroutine runnable that the caller has removed from whatever it waited on. Any thread may
/// call it. The goroutine may run, end and be gone before it returns.
inline void ready(goroutine& g, bool next = true) noexcept {
  machine* const m = current_m();
  trace_detail::readied(m, g);
  if (m != nullptr && m->p != nullptr && m->scheduler == g.scheduler) [[likely]] {
    ready_on(*m, g, next);
  } else {
    ready_elsewhere(g);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
