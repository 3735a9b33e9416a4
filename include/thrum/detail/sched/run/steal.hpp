// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Work from other Ps: four rounds over all of them in random order.
//
// The first three rounds take half of a victim's ring. Only the last one also runs the victim's due
// timers and takes its runnext: a goroutine there was just readied and will most likely be run by
// its own P in a moment, on a warm cache. (Go's rule; tokio, which let thieves have it at once,
// measured 8.5 % more CPU time and took it back.)
//
// A pair that hands the processor back and forth stays on one P. The same goroutine stands in its
// runnext half of the time, so a thief that looks twice and finds the same one knows nothing. It counts
// the switches of the P between the looks: if each goroutine had the P for less time than a move costs
// (traits::worth_a_move_ns), it leaves the runnext alone.
// Bound: a P's next switch runs its runnext. A P that switches so often does that soon; from one that
// stops switching a thief takes the runnext at its next look. A thief that refuses does not sleep: it
// looks again (idle.hpp, I6) as long as it sees a runnext. The monitor wakes a thief by the same rule.
#ifndef THRUM_DETAIL_SCHED_RUN_STEAL_HPP
#define THRUM_DETAIL_SCHED_RUN_STEAL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/steal_order.hpp>
#include <thrum/detail/sched/run/take.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// What a search brought.
struct stolen {
  goroutine* g = nullptr;
  /// Timers ran, which may have made goroutines runnable here: search again from the top.
  bool ran_timers = false;
  /// The earliest timer of all Ps that were looked at.
  std::int64_t next_timer = timer_heap<traits>::never;
};

/// Whether goroutines that changed so often in so many ns run for longer than it costs to move one.
inline bool is_worth_a_move(std::int64_t ns, std::uint64_t switches) noexcept {
  constexpr auto least = static_cast<std::uint64_t>(traits::worth_a_move_ns);
  return switches == 0 || static_cast<std::uint64_t>(ns) / switches >= least;
}

/// Pauses. Returns whether a thief may take the runnext of this P, which runs goroutines.
inline bool may_take_runnext(const processor& victim) noexcept {
  const std::uint64_t before = victim.counts.switches.get();
  const std::int64_t since = traits::now();
  traits::pause_before_runnext();
  return is_worth_a_move(traits::now() - since, victim.counts.switches.get() - before);
}

/// For the monitor: whether the runnext of a P waits for long, and so for help. A pair that hands the processor
/// back and forth has the same one waiting in half of all looks.
inline bool is_runnext_stuck(const processor& p, what_was_seen& seen, std::int64_t now) noexcept {
  const void* const waiting = p.queue.peek_runnext();
  const std::uint64_t switches = p.counts.switches.get();
  const bool stuck = waiting != nullptr && waiting == seen.runnext &&
                     is_worth_a_move(now - seen.runnext_when, switches - seen.switches);
  seen.runnext = waiting;
  seen.runnext_when = now;
  seen.switches = switches;
  return stuck;
}

/// Half of the goroutines that yielded on another P: one to run, the others to this P's.
inline goroutine* steal_yielded(machine& m, processor& victim) noexcept {
  processor& own = *m.p;
  if (victim.yielded.empty()) {
    return nullptr;
  }
  auto taken = victim.yielded.take_surplus(0);
  own.counts.steals.add(taken.size());
  trace_detail::happens(m, trace_detail::event_kind::stolen, taken.size(), victim.id);
  goroutine* const first = taken.pop_front();
  if (!taken.empty()) {
    own.yielded.append(static_cast<decltype(taken)&&>(taken));
  }
  return first;
}

inline stolen steal_work(machine& m) noexcept {
  constexpr int rounds = traits::steal_rounds;
  runtime_scheduler& scheduler = *m.scheduler;
  processor& own = *m.p;
  stolen result;
  // Not procs(): one that is to retire may still have goroutines while its holder computes.
  const unsigned live = scheduler.ps.live();
  const unsigned count = live + scheduler.ps.hosts();
  if (m.order.count() != count) {
    m.order.reset(count);
  }
  for (int round = 0; round < rounds; ++round) {
    const bool last = round == rounds - 1;
    for (auto walk = m.order.start(m.search.next()); !walk.done(); walk.next()) {
      if (scheduler.closing.peek()) {
        return result;
      }
      processor& victim = scheduler.ps.among(walk.position(), live);
      if (&victim == &own) {
        continue;
      }
      if (last) {
        const std::int64_t next = run_timers(m, victim, result.ran_timers);
        if (next < result.next_timer) {
          result.next_timer = next;
        }
        if (result.ran_timers) {
          return result;  // our own queue is no longer empty, and a thief's must be
        }
      }
      // An idle P has nothing (ID1). One that has just become busy is seen next time.
      const p_status status = victim.status.peek();
      if (status == p_status::idle || status == p_status::dead) {
        continue;
      }
      const bool had_runnext = last && victim.queue.peek_runnext() != nullptr;
      result.g = victim.queue.steal_half_into(own.queue, [&] {
        // A victim that is not inside a system call may well run its runnext itself in a moment.
        return last && (status != p_status::running || may_take_runnext(victim));
      });
      if (result.g == nullptr && (result.g = steal_yielded(m, victim)) != nullptr) {
        return result;
      }
      if (result.g != nullptr) {
        const std::uint32_t n = 1 + own.queue.ring_size();
        own.counts.steals.add(n);
        trace_detail::happens(m, trace_detail::event_kind::stolen, n, victim.id);
        if (had_runnext) {
          // Help was of use to this P, so it may call again.
          victim.wake_credit.set(traits::wake_credit);
        }
        return result;
      }
    }
  }
  return result;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
