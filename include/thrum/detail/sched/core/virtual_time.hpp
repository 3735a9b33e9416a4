// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A clock that stands still while anything can happen: what tests of timeouts run on.
//
// The last M of such a scheduler that goes to sleep, on its note, in the poller, or for a goroutine
// that is locked to it, finds every goroutine parked. It then does one of these, in this order:
//   V1  a goroutine waits for exactly this (bubble::wait): it goes on
//   V2  a goroutine waits for something that may come from outside (a mutex without a deadline, a
//       descriptor), or is runnable and in no queue, as the monitor or a thread that is not ours is
//       about to put it there: nothing; the clock stands
//   V3  a timer is armed, and the first goroutine has not returned: the clock jumps to the earliest,
//       and an M looks for work, which fires it
//   V4  no goroutine is left, or none can ever run again: the scheduler tells the owner of the clock, once
//
// And then, where the M runs the timers of that moment (run_timers):
//   V5  the goroutines that they have made runnable are put into a random order: a program that
//       relies on another one fails its tests
// All draws of such a scheduler, a select's among them, come of the clock's seed, so that with one
// processor the same seed makes the same order.
//
// Since nothing runs, only threads that are not ours arm a timer or ready a goroutine meanwhile; these
// find an idle P as ever.
//
// Source: Go, internal/synctest.
#ifndef THRUM_DETAIL_SCHED_CORE_VIRTUAL_TIME_HPP
#define THRUM_DETAIL_SCHED_CORE_VIRTUAL_TIME_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/random.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/g_state.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct virtual_clock {
  enum class state : std::uint8_t { runs, ended, deadlocked };

  /// The time of the clock, in the unit of traits::now().
  one_writer<std::int64_t> now{0};
  /// Set by the first goroutine: what is quiet before has not begun.
  one_writer<bool> has_begun{false};
  /// Set by the first goroutine at its end: time stands from then on.
  one_writer<bool> has_returned{false};
  /// All draws come of it; set before the scheduler opens.
  std::uint64_t seed = 0;
  atomic<std::uint64_t> moments{0};          // jumps that the clock has made
  shared_figure<std::uint64_t> shuffles{0};  // that were done

  /// The program's own network for its sockets, if there is one: a net_detail::network, which this layer
  /// does not know.
  atomic<void*> network{nullptr};

  /// The source of an M's draws from the moment on at which it gets a P.
  base::random random_of_moment() const noexcept {
    // relaxed: the jump was made by an M that has released the lock since
    return base::random(seed + 2 * moments.load(std::memory_order_relaxed));
  }
  /// The source of a shuffle's draws.
  base::random random_of_shuffle() noexcept { return base::random(seed + 2 * shuffles.add() + 1); }

  // -- under the scheduler's idle lock --
  base::intrusive_queue<goroutine> quiet_waiters;  // V1
  one_writer<state> outcome{state::runs};

  /// Set at V4.
  os::note settled;
};

/// What a runtime goes by: the clock of the machine, or a virtual one. Under a virtual one nothing
/// is done that only time would ask for: no slice ends, nothing idle is given back, no M sleeps
/// until a timer is due. It is no part of the traits, as one process has runtimes of both kinds,
/// and users' code that waits is the same in both.
class runtime_clock {
 public:
  runtime_clock() noexcept = default;
  explicit runtime_clock(virtual_clock* own) noexcept : virtual_(own) {}

  bool is_virtual() const noexcept { return virtual_ != nullptr; }
  /// The virtual one, which there is.
  virtual_clock& own() const noexcept { return *virtual_; }

 private:
  virtual_clock* virtual_ = nullptr;
};

constexpr bool is_for_lock(wait_reason reason) noexcept {
  return reason == wait_reason::mutex_lock || reason == wait_reason::shared_mutex_lock ||
         reason == wait_reason::shared_mutex_lock_shared;
}

/// May a wait for that reason be ended only by a goroutine of the same scheduler, or by time? (Go's
/// "durably blocked".)
constexpr bool is_durable(wait_reason reason) noexcept {
  return !is_for_lock(reason) && reason != wait_reason::none && !is_polled(reason) &&
         reason != wait_reason::io_close && reason != wait_reason::name_look_up;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
