// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a thread does that leaves the poller with a goroutine, and which thread polls meanwhile.
//
// Purpose
//   One thread sleeps in the poller. If it finds one goroutine, it runs that and wakes no thread: a wake
//   costs more than most goroutines run after an event. But a goroutine that computes for 8 ms would let
//   every event of these 8 ms wait, though a P idles beside it. (In Go they wait until
//   the goroutine ends, or until the monitor looks, 10 ms after the last look.)
//
// Which thread polls
//   If the goroutine has computed for long before, an idle P is sent to the poller at once. It finds
//   nothing, and sleeps there. The goroutine has to earn these wakes. Between leaving the poller and
//   its next wait for an event, if that is in the same slice, each 100 us earn one wake. A wake costs
//   16 us (queue/idle.hpp): at most a sixth of what the goroutine computes. It keeps 4 wakes at most.
//   So one that computes for long at every fifth event is covered
//   each time. A thread that the system kept off its CPU looks like one that computed; on a busy
//   machine two goroutines that answer each other through pipes wake a third thread for that in every
//   thirtieth round, and with 8 wakes it would be every seventh.
//   Other goroutines have earned nothing: they are new, have waited for something else since the poller
//   found them, have lost their slice, are bound to a thread, or woke in a select. For them the monitor
//   sees that no thread has polled for 0.5 ms, and sends the P. After that its rounds last at most 1 ms
//   for a second.
//
// Rejected: a few wakes for any goroutine that leaves the poller, after a time in which no thread had
// polled. Goroutines that answer at once used them up. Beside a goroutine that computes for 8 ms in
// each 10, a tenth of them waited for 4 to 8 ms, as they do in Go.
#ifndef THRUM_DETAIL_SCHED_RUN_LEAVE_POLLER_HPP
#define THRUM_DETAIL_SCHED_RUN_LEAVE_POLLER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// An M leaves the poller, and is about to run this goroutine on its P.
inline void leave_poller(machine& m, goroutine& g) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  m.from_poller.g = nullptr;
  if (scheduler.idle.idle_ps() == 0 || scheduler.clock.is_virtual() ||
      (g.flags & g_outside_ring) != 0) {
    return;
  }
  m.from_poller = {&g, m.p->schedule_tick.get(), scheduler.poll.last_look()};
  if (g.wakes_earned != 0) [[unlikely]] {
    --g.wakes_earned;
    scheduler.wake_processor();
  }
}

/// The goroutine that runs on this M is about to wait for an event.
inline void note_wait_for_event(machine& m) noexcept {
  constexpr std::int64_t wake_costs_ns = 100'000;  // what it must compute for one
  constexpr std::int64_t most = 4;
  auto& left = m.from_poller;
  const bool same_slice = left.g == m.g && left.slice == m.p->schedule_tick.get();
  left.g = nullptr;
  if (!same_slice || left.at == 0) {
    return;
  }
  if (const std::int64_t ran = traits::now() - left.at; ran >= wake_costs_ns) {
    const std::int64_t earned = m.g->wakes_earned + ran / wake_costs_ns;
    m.g->wakes_earned = static_cast<std::uint8_t>(earned < most ? earned : most);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
