// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How much input and output a goroutine may do in a row while others wait.
//
// Purpose
//   A goroutine whose every call succeeds at once never parks. With a peer that always has more to
//   send and to take it keeps its processor for a whole time slice; two hundred of them keep it
//   from all others for a second, and for ever where no monitor ends slices. So successful calls
//   are counted, by number and by bytes, and after each share of them the goroutine looks whether
//   others wait:
//
//   at each look      goroutines whose timers are due; those that the poller has news of, which is
//                     asked if it was not for a while; the ring; in the global queue, those that
//                     have not given way themselves
//   at the last one   those that have, too, and those back from the poller after a whole share
//
// So a client that seldom says something waits for one share, and not for one of each flooder. And
// the flooders among themselves take turns of about a time slice: with turns of one share each
// would find its data and the system's in no cache (200 of them lost a third of their throughput).
// A flooder whose peer is as fast as it is waits for the poller now and then, and would be found by
// each look of the others when it comes back (they lost a fifth): so one that moved a whole share
// before it waited, and did not only accept, comes back to the global queue and takes turns with
// those that gave way.
//
// The count is not set back at each switch, which would cost all those that do no input and output:
// it is compared with the count of switches.
#ifndef THRUM_DETAIL_SCHED_IO_IO_SHARE_HPP
#define THRUM_DETAIL_SCHED_IO_IO_SHARE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/yield.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Puts the goroutine into runnext: g0 has something to do first, and then it goes on unless that
/// made others runnable.
inline bool commit_to_runnext(machine& m, goroutine& g, void*) noexcept {
  g.status.set(g_status::runnable);
  if (goroutine* const kicked = m.p->queue.exchange_runnext(&g)) {
    push_to_ring(m, *kicked);
    m.scheduler->wake_processor();
  }
  return true;
}

/// Whether something waits that the running goroutine gives way to.
inline bool somebody_waits(machine& m) noexcept {
  processor& p = *m.p;
  if (p.attention.get() != 0 || p.has_queued() || m.scheduler->global.others_wait() ||
      (p.timers.size() != 0 && m.scheduler->next_timer(p) <= traits::now())) {
    return true;
  }
  const std::uint32_t slice = p.schedule_tick.get();
  if (p.io_slice != slice) {
    p.io_slice = slice;
    p.io_looks = 0;
  }
  if (++p.io_looks < traits::io_looks) {
    return false;
  }
  p.io_looks = 0;
  return !m.scheduler->global.empty();
}

/// A share is used up, by an operation that moved bytes or by one that accepts and the like.
THRUM_COLD inline void look_for_waiters(section& here, bool moved) noexcept {
  machine& m = *here.m();
  m.p->io_left = traits::io_budget;
  here.g()->moved_much |= moved;
  if (somebody_waits(m)) {
    here.moved_to(give_way(m));
  } else if (is_poll_due(*m.scheduler)) {
    m.p->attention.fetch_or(attention_poll, relaxed);  // relaxed: only for ourselves
    here.moved_to(leave(m, static_cast<goroutine*>(nullptr), &commit_to_runnext, nullptr));
  }
}

/// The end of an operation that has moved so many bytes: preemption_point(), and a look if it was
/// one too many in a row. Nothing on a foreign thread.
inline void end_io(section& here, std::size_t bytes) noexcept {
  machine* const m = here.m();
  if (m == nullptr) {
    return;
  }
  processor& p = *m->p;
  const std::uint64_t switches = p.counts.switches.get();
  if (p.io_since != switches) {
    p.io_since = switches;
    p.io_left = traits::io_budget;
  }
  constexpr auto most = static_cast<std::size_t>(traits::io_budget);
  p.io_left -= traits::io_call_cost + static_cast<std::int64_t>(bytes < most ? bytes : most);
  if (p.io_left <= 0) [[unlikely]] {
    look_for_waiters(here, bytes != 0);
    return;
  }
  preemption_point(here);
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
