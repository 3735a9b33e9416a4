// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a P has to run without searching: its runnext and ring, its share of the global queue, its
// due timers. find_work.hpp asks them first, one by one; a goroutine that leaves the processor asks
// them on its own stack (switch.hpp).
//
// A time slice begins with each of these but runnext: what comes from there shares the slice of its
// predecessor.
#ifndef THRUM_DETAIL_SCHED_RUN_TAKE_HPP
#define THRUM_DETAIL_SCHED_RUN_TAKE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/random.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/latency.hpp>
#include <thrum/detail/sched/run/ready.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Counts a goroutine that did not inherit its predecessor's time slice.
THRUM_INLINE void begin_slice(processor& p) noexcept { p.schedule_tick.add(); }

inline bool global_turn(const processor& p) noexcept {
  return p.schedule_tick.get() % traits::global_check_interval == 0;
}

/// One that yielded here, or null. The global queue's turn is next: both have every other turn while both have
/// goroutines.
inline goroutine* pop_yielded(processor& p) noexcept {
  p.global_is_next = true;
  return p.yielded.pop();
}

/// One of those that yielded here, or of the global queue.
inline goroutine* pop_behind_ring(machine& m) noexcept {
  processor& p = *m.p;
  auto& global = m.scheduler->global;
  if (p.yielded.empty() || (p.global_is_next && !global.empty())) {
    goroutine* const g = global.empty() ? nullptr : global.pop();
    if (g != nullptr) {
      p.global_is_next = false;
      return g;
    }
  }
  return pop_yielded(p);
}

/// The slice has been handed on often enough. Where a monitor ends slices by time, that is its
/// business: after so few hand-overs a loop that waits would get a thousand times their share. Else
/// what waits on this P or in the global queue goes first, and `heir` behind the others. If no
/// goroutine waits, `heir` continues with a slice of its own.
THRUM_COLD inline goroutine* end_inheritance(machine& m, goroutine& heir) noexcept {
  processor& p = *m.p;
  p.inheritances_left = traits::most_inheritances;
  if (m.scheduler->config().preempts && !m.scheduler->clock.is_virtual()) {
    return &heir;
  }
  begin_slice(p);
  goroutine* g = p.queue.pop();
  if (g == nullptr && (g = pop_behind_ring(m)) == nullptr) {
    return &heir;
  }
  push_to_ring(m, heir);
  if (m.scheduler->has_other_ps()) {
    m.scheduler->wake_processor();
  }
  return g;
}

/// runnext, else the ring's head. Not under the global queue's lock.
THRUM_INLINE goroutine* take_local(machine& m) noexcept {
  processor& p = *m.p;
  if (goroutine* g = p.queue.take_runnext()) {
    if (--p.inheritances_left != 0) [[likely]] {
      return g;
    }
    return end_inheritance(m, *g);
  }
  goroutine* g = p.queue.pop();
  if (g != nullptr) {
    begin_slice(p);
  }
  return g;
}

/// One goroutine of the global queue; more of them into the own ring.
inline goroutine* take_global(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  if (scheduler.global.empty()) {
    return nullptr;
  }
  auto share = scheduler.global.take_share(scheduler.procs(), traits::run_queue_capacity / 2);
  goroutine* g = share.pop_front();
  if (!share.empty()) {
    m.p->queue.push_batch(share);
    scheduler.global.prepend(static_cast<decltype(share)&&>(share));
  }
  if (g != nullptr) {
    m.p->global_is_next = false;
    begin_slice(*m.p);
  }
  return g;
}

/// What stands behind the ring: one of those that yielded here, or a share of the global queue. Null: no
/// goroutine that yielded is left here, also if another P has emptied the global queue meanwhile.
inline goroutine* take_behind_ring(machine& m) noexcept {
  processor& p = *m.p;
  if (!p.yielded.empty()) {
    if (p.global_is_next) {
      if (goroutine* const g = take_global(m)) {
        return g;
      }
    }
    if (goroutine* const g = pop_yielded(p)) {
      begin_slice(p);
      return g;
    }
  }
  return take_global(m);
}

/// One of those, on the turn that is reserved for them.
inline goroutine* take_behind_ring_in_turn(machine& m) noexcept {
  if (!global_turn(*m.p)) {
    return nullptr;
  }
  goroutine* const g = pop_behind_ring(m);
  if (g != nullptr) {
    begin_slice(*m.p);
  }
  return g;
}

/// The time slice is over: what waits in runnext has shared it and goes behind the others.
inline void end_slice(machine& m) noexcept {
  if (goroutine* g = m.p->queue.take_runnext()) {
    push_to_ring(m, *g);
  }
  begin_slice(*m.p);
}

/// Whether no thread has polled for so long that a P that has other work should.
inline bool is_poll_due(runtime_scheduler& scheduler) noexcept {
  if (scheduler.poller.descriptors() == 0) {
    return false;
  }
  if (scheduler.clock.is_virtual()) {  // it stands, and would never say that it is time
    return !scheduler.poll.somebody_sleeps();
  }
  return scheduler.poll.is_due(traits::now(), traits::poll_interval_ns);
}

/// Puts goroutines into a random order. A bit of its own is drawn for each, pass by pass, and those with
/// a 0 go before those with a 1: with as many passes as make equal strings of bits unlikely, each order is
/// as likely as any other. So it needs no memory.
inline void shuffle(base::intrusive_queue<goroutine>& all, base::random& random) noexcept {
  const unsigned passes = 2 * static_cast<unsigned>(std::bit_width(all.size())) + 8;
  for (unsigned i = 0; i != passes; ++i) {
    base::intrusive_queue<goroutine> ones;
    base::intrusive_queue<goroutine> zeroes;
    while (goroutine* const g = all.pop_front()) {
      (random.below(2) != 0 ? ones : zeroes).push_back(g);
    }
    all.append(static_cast<base::intrusive_queue<goroutine>&&>(zeroes));
    all.append(static_cast<base::intrusive_queue<goroutine>&&>(ones));
  }
}

/// V5, for what stands on this P, and in the global queue as the ring has no room for all; and for what
/// stands in the background queue.
THRUM_COLD inline void shuffle_woken(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  base::random random = scheduler.clock.own().random_of_shuffle();
  auto all = m.p->drain();
  while (goroutine* const g = scheduler.global.pop()) {
    all.push_back(g);
  }
  shuffle(all, random);
  while (goroutine* const g = all.pop_front()) {
    push_to_ring(m, *g);
  }
  while (goroutine* const g = scheduler.background.pop()) {
    all.push_back(g);
  }
  shuffle(all, random);
  if (!all.empty()) {
    scheduler.background.append(static_cast<decltype(all)&&>(all));
    scheduler.wake_processor();  // a P that looked meanwhile has seen none
  }
}

/// How many due timers one pass may run. They fill at most half of the ring: what the ring has no room for
/// goes to the global queue, and there timers that are due later would overtake it. What is left stands in
/// the heap in order. If the ring is full of others, as many as may run between two passes.
inline std::size_t room_for_woken(const machine& m) noexcept {
  constexpr std::uint32_t half = traits::run_queue_capacity / 2;
  constexpr std::uint32_t least = traits::timer_check_interval;
  if (m.scheduler->clock.is_virtual()) [[unlikely]] {
    return std::numeric_limits<std::size_t>::max();  // V5: in a random order, all of one moment
  }
  const std::uint32_t used = m.p->queue.ring_size();
  return used + least < half ? half - used : least;
}

/// Runs due timers of a P, into the ring of the own one: all, if that has room. Returns when the next one is
/// due.
inline std::int64_t run_timers(machine& m, processor& p, bool& ran) noexcept {
  const std::int64_t earliest = p.timers.earliest();
  if (earliest == timer_heap<traits>::never) {
    return earliest;
  }
  const std::int64_t now = traits::now();
  if (earliest > now) {
    return earliest;
  }
  std::size_t n = 0;
  std::size_t most = 0;
  std::int64_t next = 0;
  do {
    most = room_for_woken(m);
    n += p.timers.run_due(now, most);
    next = p.timers.earliest();
  } while (next <= now && most > traits::timer_check_interval);  // those woke no goroutines
  m.p->counts.timers.add(n);
  if (n != 0) {
    count_lateness(m, now - earliest);
    trace_detail::happens(m, trace_detail::event_kind::timers, n);
  }
  ran = ran || n != 0;
  if (n > 1 && m.scheduler->clock.is_virtual()) [[unlikely]] {
    shuffle_woken(m);
  }
  return next;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
