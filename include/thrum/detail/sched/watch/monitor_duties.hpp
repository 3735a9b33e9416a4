// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the monitor does about one P in a round: of an M or of a host, in a blocking call, with a
// runnext or a half of a fork that waits.
#ifndef THRUM_DETAIL_SCHED_WATCH_MONITOR_DUTIES_HPP
#define THRUM_DETAIL_SCHED_WATCH_MONITOR_DUTIES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/fork/fork_thief.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/detail/sched/run/steal.hpp>
#include <thrum/detail/sched/watch/monitor.hpp>
#include <thrum/detail/sched/watch/retake.hpp>

#include <cstdint>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

inline bool monitor::look_at(processor& p, std::int64_t now) noexcept {
  const p_status status = p.status.load(acquire);  // [p.status <] its ticks are at least this new
  const std::int64_t due_at = scheduler_.next_timer(p);
  const bool due = due_at <= now;
  if (due && scheduler_.idle.idle_ps() != 0) {
    // An M that searches runs the due timers of every P. The thread in the poller may not know this one:
    // an M that looks for work announces no timers of its P, and may then find a CPU-bound goroutine.
    scheduler_.wake_for_timer(due_at);
  }
  if (status != p_status::running && status != p_status::syscall) {
    p.seen.runnext = nullptr;
    returned_.serve(&p);
    return false;  // a due timer is no sign that more is to be done
  }
  const std::uint32_t tick = p.schedule_tick.get();  // compared with the last one
  bool slice_is_over = false;
  if (tick != p.seen.schedule_tick) {
    p.seen.schedule_tick = tick;
    returned_.serve(&p);
    // [p.resumed <] acquire: the time; relaxed: a later one is as good
    const bool resumed = p.resumed_tick.load(acquire) == tick;
    p.seen.schedule_when = resumed ? p.resumed_at.load(relaxed) : now;
  } else if (now - p.seen.schedule_when >= scheduler_.config().time_slice_ns) {
    slice_is_over = true;
  }
  if (status == p_status::syscall) {
    if (exits_) [[unlikely]] {
      return false;
    }
    return look_at_syscall(p, now, slice_is_over);
  }
  if (due) {
    ask(p, attention_timers);
  }
  look_at_share(p, now);
  // What follows says itself when to come again: rounds of 20 us would use up the monitor's share of a
  // CPU that hogs compete for, and let it oversleep by milliseconds.
  const std::uint32_t asked = p.attention.get();
  const bool low = (asked & attention_low) != 0;
  const bool others_wait =
      p.has_queued() || !scheduler_.global.empty() || (low && is_wanted_elsewhere());
  const bool is_wanted = due || others_wait || exits_ || must_share_cpus() ||
                         (asked & (attention_retire | attention_share)) != 0 ||
                         (low && !scheduler_.background.empty());
  if (scheduler_.config().preempts && is_wanted) {
    if (slice_is_over) {
      call_last_thread();
    }
    // What runs in the background makes room as for a timer that is due.
    const std::int64_t due_since = due                  ? due_at
                                   : low && others_wait ? p.seen.schedule_when
                                                        : retaker_.never;
    const retaker::turn its =
        retaker_.turn_of(p, now, due_since, others_wait && returned_.wait_for(&p));
    if (retaker_.press(p, now, its, next_look_)) {
      return true;
    }
    if (p.seen.asked_at == now && its.ends_slice) {
      returned_.ask(&p);
    }
  }
  return look_at_runnext(p, now);
}

inline void monitor::look_at_share(processor& p, std::int64_t now) noexcept {
  const bool low = (p.attention.get() & attention_low) != 0;
  if (low || scheduler_.background.empty()) {
    p.seen.background_since = 0;
    return;
  }
  if (p.seen.background_since == 0) {
    p.seen.background_since = now;
  } else if (now - p.seen.background_since >=
             slices_between_shares(scheduler_) * scheduler_.config().time_slice_ns) {
    p.seen.background_since = now;
    ask(p, attention_share);
  }
}

inline void monitor::look_at_host(host_thread& h, std::int64_t now) noexcept {
  processor& p = h.p;
  const p_status status = p.status.load(acquire);  // [p.status <] its tick is at least this new
  if (status != p_status::running && status != p_status::syscall) {
    return;
  }
  const auto sooner = [this](std::int64_t when) {
    next_look_ = when < next_look_ ? when : next_look_;
  };
  const std::uint32_t tick = p.schedule_tick.get();
  const bool due = scheduler_.next_timer(p) <= now;
  if (tick != p.seen.schedule_tick) {
    p.seen.schedule_tick = tick;
    p.seen.schedule_when = now;
  }
  const std::int64_t since = p.seen.schedule_when;
  const std::int64_t slice = scheduler_.config().time_slice_ns;
  const std::int64_t patience = slice < traits::least_run_ns ? slice : traits::least_run_ns;
  if (now - since < patience) {
    sooner(since + patience);
  } else {
    relieve(p, due);
    sooner(now + patience);
  }
  if (status != p_status::running) {
    return;
  }
  if (due) {
    ask(p, attention_timers);
  }
  if (!scheduler_.config().preempts) {
    return;
  }
  const std::int64_t until = h.until.get();
  const std::int64_t allowed = until < since + slice ? until : since + slice;
  if (now < allowed) {
    sooner(allowed);
    return;
  }
  p.asked_tick.set(tick);
  ask(p, attention_preempt);
}

inline void monitor::relieve(processor& p, bool due) noexcept {
  if (due) {
    const std::int64_t when = scheduler_.give_timers_away(p);
    if (when != timer_heap<traits>::never) {
      ask(scheduler_.ps[0], attention_timers);
      scheduler_.wake_for_timer(when);
    }
  }
  if (p.queue.empty()) {
    return;
  }
  if (scheduler_.idle.idle_ps() == 0) {
    // Thieves come when they have nothing else; these would wait for that behind what computes.
    base::intrusive_queue<goroutine> others;
    while (goroutine* const g = p.queue.steal_half_into(taken_from_host_, [] { return true; })) {
      others.append(taken_from_host_.drain());
      others.push_back(g);
    }
    scheduler_.global.append(std::move(others));
  }
  scheduler_.wake_processor();
}

inline bool monitor::look_at_syscall(processor& p, std::int64_t now, bool slice_is_over) noexcept {
  const std::uint32_t tick = p.syscall_tick.get();  // compared with the last one
  if (tick != p.seen.syscall_tick && !slice_is_over) {
    p.seen.syscall_tick = tick;
    p.seen.syscall_when = now;
    if (p.has_queued() || !scheduler_.global.empty()) {
      const std::int64_t again = now + traits::blocked_ns;
      next_look_ = again < next_look_ ? again : next_look_;
    }
    return false;
  }
  // No thread needs this P: nothing is queued here, and others are there to take what may come.
  constexpr std::int64_t longest_ns = 10'000'000;
  if (!p.has_queued() && scheduler_.idle.spinning() + scheduler_.idle.idle_ps() > 0 &&
      now - p.seen.syscall_when < longest_ns) {
    return false;
  }
  auto expected = p_status::syscall;
  // [p.status <] acquire: what its M did with it; SY1. relaxed: its M is back
  if (!p.status.compare_exchange_strong(expected, p_status::idle, acquire, relaxed)) {
    return false;
  }
  p.m.set(nullptr);
  p.first_calls_are_long.set(true);
  p.syscall_tick.add();                            // we hold the P now
  scheduler_.taken.blocked.fetch_add(1, relaxed);  // relaxed: before the lock of hand_off
  scheduler_.hand_offs.add();
  trace_detail::happens_to(scheduler_, trace_detail::event_kind::handed_off, p.id);
  scheduler_.hand_off(p);
  return true;
}

inline bool monitor::look_at_runnext(processor& p, std::int64_t now) noexcept {
  if (!is_runnext_stuck(p, p.seen, now) || scheduler_.idle.idle_ps() == 0) {
    return false;
  }
  p.wake_credit.set(traits::wake_credit);
  scheduler_.wake_processor();
  return true;
}

inline bool monitor::look_at_forks(unsigned at, unsigned forking, std::int64_t now) noexcept {
  processor& p = scheduler_.ps.among(at, forking);
  what_was_seen& seen = p.seen;
  const std::uint64_t first = p.forks.first();
  const std::uint64_t before = std::exchange(seen.forks_first, first);
  if (first == 0) {
    return false;
  }
  const std::int64_t slice = scheduler_.config().time_slice_ns;
  if (before == 0) {
    seen.forks_from = seen.forks_since = now;
    seen.forks_patience = slice;
    return false;
  }
  if (scheduler_.idle.idle_ps() != 0) {
    p.forks.refill_credit();
    scheduler_.wake_processor();
    return true;
  }
  // A computation that lasts has halves on offer all the time, and comes to them by itself. One that goes
  // on is not helped but for what may be hidden behind it; one that does not, less and less often: each
  // goroutine may have a thread of its own before long.
  constexpr std::int64_t most_slices = 64;
  if (first != before) {
    seen.forks_since = now;
  }
  const bool stands = now - seen.forks_since >= seen.forks_patience;
  if ((stands || now - seen.forks_from >= most_slices * slice) && !exits_) {
    seen.forks_from = seen.forks_since = now;
    if (seen.forks_patience < most_slices * slice) {
      seen.forks_patience *= 2;
    }
    queue_forked(scheduler_, at);
  }
  return false;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
