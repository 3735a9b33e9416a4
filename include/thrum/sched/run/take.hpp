// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a P has to run without searching: its runnext and ring, its share of the global queue, its due
// timers. find_work.hpp asks them first, one by one; a goroutine that leaves the processor asks them on
// its own stack (switch.hpp).
//
// A time slice begins with each of these but runnext: what comes from there shares the slice of its
// predecessor.
#ifndef THRUM_SCHED_RUN_TAKE_HPP
#define THRUM_SCHED_RUN_TAKE_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/sched/core/scheduler.hpp>
#include <thrum/sched/run/ready.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Counts a goroutine that did not inherit its predecessor's time slice.
template <class Traits>
void begin_slice(basic_p<Traits>& p) noexcept {
  // relaxed: only the holder writes; the monitor compares two readings
  p.schedule_tick.store(p.schedule_tick.load(relaxed) + 1, relaxed);
}

template <class Traits>
bool global_turn(const basic_p<Traits>& p) noexcept {
  return p.schedule_tick.load(relaxed) % Traits::global_check_interval == 0;  // relaxed: own count
}

/// The slice has been handed on often enough. Where a monitor ends slices by time, that is its
/// business: after so few hand-overs a loop that waits would get a thousand times their share. Else
/// what waits on this P or in the global queue goes first, and `heir` behind the others. It goes
/// on with a slice of its own if nobody waits.
template <class Traits>
THRUM_COLD basic_g<Traits>* end_inheritance(basic_m<Traits>& m, basic_g<Traits>& heir) noexcept {
  basic_p<Traits>& p = *m.p;
  p.inheritances_left = Traits::most_inheritances;
  if (m.scheduler->config().preempts && m.scheduler->clock == nullptr) {
    return &heir;
  }
  begin_slice(p);
  basic_g<Traits>* g = p.queue.pop();
  if (g == nullptr && !m.scheduler->global.empty()) {
    g = m.scheduler->global.pop();
  }
  if (g == nullptr) {
    return &heir;
  }
  push_to_ring(m, heir);
  if (m.scheduler->procs() != 1) {
    m.scheduler->wake_processor();
  }
  return g;
}

/// runnext, else the ring's head. Not under the global queue's lock.
template <class Traits>
basic_g<Traits>* take_local(basic_m<Traits>& m) noexcept {
  basic_p<Traits>& p = *m.p;
  if (basic_g<Traits>* g = p.queue.take_runnext()) {
    if (--p.inheritances_left != 0) [[likely]] {
      return g;
    }
    return end_inheritance(m, *g);
  }
  basic_g<Traits>* g = p.queue.pop();
  if (g != nullptr) {
    begin_slice(p);
  }
  return g;
}

/// One goroutine of the global queue; more of them into the own ring.
template <class Traits>
basic_g<Traits>* take_global(basic_m<Traits>& m) noexcept {
  basic_scheduler<Traits>& scheduler = *m.scheduler;
  if (scheduler.global.empty()) {
    return nullptr;
  }
  auto share = scheduler.global.take_share(scheduler.procs(), Traits::run_queue_capacity / 2);
  basic_g<Traits>* g = share.pop_front();
  if (!share.empty()) {
    m.p->queue.push_batch(share);
    scheduler.global.prepend(static_cast<decltype(share)&&>(share));
  }
  if (g != nullptr) {
    begin_slice(*m.p);
  }
  return g;
}

/// One goroutine of the global queue, on the turn that is reserved for it.
template <class Traits>
basic_g<Traits>* take_global_in_turn(basic_m<Traits>& m) noexcept {
  if (!global_turn(*m.p) || m.scheduler->global.empty()) {
    return nullptr;
  }
  basic_g<Traits>* g = m.scheduler->global.pop();
  if (g != nullptr) {
    begin_slice(*m.p);
  }
  return g;
}

/// The time slice is over: what waits in runnext has shared it and goes behind the others.
template <class Traits>
void end_slice(basic_m<Traits>& m) noexcept {
  if (basic_g<Traits>* g = m.p->queue.take_runnext()) {
    push_to_ring(m, *g);
  }
  begin_slice(*m.p);
}

/// Whether nobody has polled for so long that a P that has other work should.
template <class Traits>
bool is_poll_due(basic_scheduler<Traits>& scheduler) noexcept {
  if (scheduler.poller.descriptors() == 0) {
    return false;
  }
  if (scheduler.clock != nullptr) {  // it stands, and would never say that it is time
    return !scheduler.poll.somebody_sleeps();
  }
  return scheduler.poll.is_due(Traits::now(), Traits::poll_interval_ns);
}

/// Runs the due timers of a P. Returns when its next one is due.
template <class Traits>
std::int64_t run_timers(basic_m<Traits>& m, basic_p<Traits>& p, bool& ran) noexcept {
  const std::int64_t earliest = p.timers.earliest();
  if (earliest == timer_heap<Traits>::never) {
    return earliest;
  }
  const std::int64_t now = Traits::now();
  if (earliest > now) {
    return earliest;
  }
  const std::size_t n = p.timers.run_due(now);
  m.p->counts.timers.add(n);
  ran = ran || n != 0;
  return p.timers.earliest();
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
