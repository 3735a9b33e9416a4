// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The sleep of the monitor, and which threads end it.
//
// Two protocols, each of the same form: one side writes, then looks at what the other side writes
// before it looks at what this side has written. So one of them sees the other.
//   idle    the monitor sets `asleep`, then looks whether all Ps idle and no half of a fork is on offer;
//           a P leaves the idle list, or a goroutine without a P offers a half, and then looks at
//           `asleep`.
//   timers  the monitor writes until when it sleeps, then looks at the timers of busy Ps; a thread
//           that arms a timer puts it into its heap, then looks at `until`.
//   returns as timers: a goroutine that comes back from a call, and finds no P, counts itself. So does a thread
//           outside of the runtime that makes a goroutine ready while all Ps are busy.
//
// MS1  a goroutine is counted after it has been queued. The monitor forgets those that it has counted when it
//      finds the global queue empty. If one were counted first, it could be forgotten between the two steps, and
//      wait for the end of a loop's slice.
// MS2  a P that was asked to make room for such goroutines has done so when it leaves what it runs. Asking alone
//      may be in vain: there is no M to take the P, or the signal finds its thread inside the scheduler.
//
// Checked by tests/model/retake_model.cpp: returns.
//
// Fences of [mon.sleep]: announce_idle_sleep, call_for_help.
// Fences of [mon.until]: stop_in_handler.
#ifndef THRUM_DETAIL_SCHED_CORE_MONITOR_SLEEP_HPP
#define THRUM_DETAIL_SCHED_CORE_MONITOR_SLEEP_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

/// How the monitor remembers, from round to round, whether goroutines that were counted still wait.
class returned {
 public:
  /// In each round. `count`: monitor_sleep::returns(), read before `is_empty()` is asked of the global queue.
  template <class IsEmpty>
  void look(std::uint32_t count, IsEmpty is_empty) noexcept {
    if (count == seen_ && is_empty()) {
      served_ = count;  // by themselves
      asked_p_ = nullptr;
    }
    seen_ = count;
  }
  /// Whether they wait for a P, or more have come since the round began.
  bool wait(std::uint32_t count) const noexcept { return count != seen_ || seen_ != served_; }
  /// Whether this P is to make room for them: no other one was asked.
  bool wait_for(const void* p) const noexcept {
    return seen_ != served_ && (asked_p_ == nullptr || asked_p_ == p || asked_for_ != seen_);
  }
  /// This P was asked.
  void ask(const void* p) noexcept {
    asked_p_ = p;
    asked_for_ = seen_;
  }
  /// MS2: a P has left the goroutine that it ran, perhaps because it was asked.
  void serve(const void* p) noexcept {
    if (asked_p_ == p) {
      asked_p_ = nullptr;
      served_ = asked_for_;
    }
  }

 private:
  std::uint32_t seen_ = 0;
  std::uint32_t served_ = 0;
  std::uint32_t asked_for_ = 0;
  const void* asked_p_ = nullptr;
};

class monitor_sleep {
 public:
  // ---- everybody ----

  /// Whatever it sleeps for.
  void wake() noexcept { note_.wake(); }

  /// A P has left the idle list.
  void wake_if_all_idle() noexcept {
    // [mon.sleep =] seq_cst: after the P left the idle list; pairs with the monitor's own store
    // before it looks at the list.
    if (asleep_.load(seq_cst)) [[unlikely]] {
      note_.wake();
    }
  }

  /// A goroutine is going on that computes for long: the monitor must be there when a timer of its
  /// P is due. For others the monitor's rounds are enough.
  void wake_for(std::int64_t when) noexcept {
    constexpr std::int64_t slack = 100'000;
    // [mon.until =] seq_cst: the timer is in its heap; pairs with the monitor's store before its
    // look.
    if (until_.load(seq_cst) - slack > when) {
      note_.wake();
    }
  }

  /// A goroutine has come back from a call or was made ready from outside, has found every P busy, and stands in the
  /// global queue: the monitor must be there in `patience` ns.
  void note_return(std::int64_t patience) noexcept {
    // [mon.until =] seq_cst: before the look at `until`; pairs with the monitor's store before its own look.
    returns_.fetch_add(1, seq_cst);
    wake_for(traits::now() + patience);
  }

  /// For display.
  bool is_asleep() const noexcept {
    return asleep_.load(relaxed);  // relaxed: a figure for display
  }

  // ---- the monitor ----

  /// The monitor will sleep until then at the most. It looks at the timers after this call.
  void plan(std::int64_t until) noexcept {
    // [mon.until =] seq_cst: before the look at the timers; a thread that arms one later wakes us.
    until_.exchange(until, seq_cst);
  }
  /// Plans an earlier end of the sleep, after the look at the timers: `until` is no later than planned.
  void shorten_plan(std::int64_t until) noexcept {
    until_.store(until, relaxed);  // relaxed: its readers need to know no more than when we come
  }
  /// How many have queued up so. The monitor looks after plan(), too.
  std::uint32_t returns() const noexcept {
    return returns_.load(seq_cst);  // [mon.until =] seq_cst: after the plan
  }
  void end_plan() noexcept {
    until_.store(0, relaxed);  // relaxed: no thread needs to wake us
  }

  /// False: no thread has woken it in that time.
  [[nodiscard]] bool sleep_for(std::int64_t ns) noexcept { return note_.sleep_for(ns); }
  void sleep() noexcept { note_.sleep(); }
  /// Takes the wake-up back before the next sleep, unless the scheduler closes.
  void clear() noexcept { note_.clear_while_woken(); }

  /// The monitor is about to sleep while all Ps idle. It looks at the list after this call.
  void announce_idle_sleep() noexcept {
    // [mon.sleep =] seq_cst: before the look at the list; a P that leaves it then sees the flag.
    asleep_.exchange(true, seq_cst);
    traits::fence(seq_cst);  // [mon.sleep =] the flag before the look
  }
  void end_idle_sleep() noexcept {
    asleep_.exchange(false, seq_cst);  // [mon.sleep =] seq_cst: awake again
  }

 private:
  os::note note_;
  atomic<bool> asleep_{false};
  /// 0 while it is awake.
  atomic<std::int64_t> until_{0};
  atomic<std::uint32_t> returns_{0};
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
