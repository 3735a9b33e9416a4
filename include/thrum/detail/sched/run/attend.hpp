// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Doing what is asked of a P (`processor::attention`): to stand still, to end a slice, to run
// timers, to poll, to give a turn to the background, to retire. g0 does all of it; a running
// goroutine what is quickly done, and leaves for g0 for the rest. The third place is the signal
// handler, watch/preempt.hpp, which cannot leave.
#ifndef THRUM_DETAIL_SCHED_RUN_ATTEND_HPP
#define THRUM_DETAIL_SCHED_RUN_ATTEND_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/freeze/freeze_holder.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/detail/sched/run/latency.hpp>
#include <thrum/detail/sched/run/poll_sink.hpp>
#include <thrum/detail/sched/run/take.hpp>
#include <thrum/detail/sched/run/yield.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The one that the monitor has asked a turn for: rather one that a signal interrupted. Null: none waits.
inline goroutine* take_background_share(machine& m) noexcept {
  constexpr std::uint32_t turns = 8;
  const bool is_turn_of_first = ++m.p->background_shares % turns == 0;
  goroutine* const g = is_turn_of_first ? nullptr : m.scheduler->background.take_preempted();
  if (g == nullptr) {
    return take_background(m);
  }
  begin_slice(*m.p);
  show_priority(*m.p, *g);
  return g;
}

/// Does what was asked of the P, on g0. False: the P is gone. m.pending may be set: it comes next.
THRUM_COLD inline bool attend(machine& m) noexcept {
  // [p.attention <] acquire: what the asking thread had done before.
  const std::uint32_t asked = m.p->attention.fetch_and(attention_host | attention_migrate, acquire);
  wait_while_frozen(m);
  if ((asked & attention_retire) != 0) {
    m.scheduler->retire_p(m);
    if (m.p == nullptr) {
      return false;
    }
  }
  if ((asked & attention_preempt) != 0) {
    end_slice(m);
  }
  if ((asked & attention_poll) != 0) {
    poll_in_turn(m);
  }
  if ((asked & attention_share) != 0) {
    m.pending = take_background_share(m);
  }
  return true;  // timers are looked at next
}

/// Serves whatever is asked of the P that runs this goroutine: preemption, due timers, retirement.
/// Returns the M that it runs on afterwards.
THRUM_COLD inline machine& serve_running(machine& m) noexcept {
  processor& p = *m.p;
  show_priority(p, *m.g);  // it was another one's that has blocked with this P
  // [p.attention <] acquire: as in attend.
  if ((p.attention.fetch_and(~std::uint32_t{attention_freeze}, acquire) & attention_freeze) != 0) {
    wait_while_frozen(m);
  }
  // [p.attention <] acquire: as in attend; only the holder clears bits
  std::uint32_t asked = p.attention.load(acquire) & ~std::uint32_t{attention_standing};
  if ((asked & attention_preempt) != 0 && p.asked_tick.get() != p.schedule_tick.get()) {
    // It was meant for an earlier goroutine, which had a whole slice; this one does not give way.
    // [p.attention <] acquire: as in attend
    asked = p.attention.fetch_and(~std::uint32_t{attention_preempt}, acquire) &
            ~std::uint32_t{attention_preempt | attention_standing};
  }
  if (asked == 0) {
    return m;
  }
  if (asked == attention_timers) {
    // [p.attention <] acquire: as in attend.
    p.attention.fetch_and(~std::uint32_t{attention_timers}, acquire);
    bool ran = false;
    run_timers(m, p, ran);
    return m;
  }
  p.counts.preemptions.add();
  if ((asked & attention_preempt) != 0) {
    count_cut_slice(m);
  }
  trace_detail::happens(m, trace_detail::event_kind::gives_way);
  return give_way(m);
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
