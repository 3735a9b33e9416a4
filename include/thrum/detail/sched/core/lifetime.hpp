// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a scheduler knows of its own end: the stop of its runtime (endings), the threads that it outlives
// (waker_count), the exit of the process (process_exit_state), its entry in the registry (registration).
//
// The stop: that it has begun, and that the last goroutine has ended.
//
// stop() sets `stopping`, passes a heavy fence and looks at the goroutines that are parked; a
// goroutine that parks publishes its wait point, passes a light fence and looks at `stopping`. So
// none parks unseen. These two fences also stand between the count of an ended goroutine and its
// look at `stopping`: the last goroutine wakes the thread that waits in wait_until().
//
// While the points of parked goroutines are read, `withdrawing` is set, and the lock held: a
// goroutine that goes on meanwhile waits for the lock before its point goes out of scope.
//
// Fences of [s.stop]: count_end, end_withdrawable, must_exit, withdraw.
#ifndef THRUM_DETAIL_SCHED_CORE_LIFETIME_HPP
#define THRUM_DETAIL_SCHED_CORE_LIFETIME_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/lock.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

class endings {
 public:
  /// Whether every goroutine is to end. In a goroutine after a light fence.
  bool has_begun() const noexcept {
    // relaxed: ordered by the fence of [s.stop] in must_exit
    return stopping_.load(relaxed);
  }
  void begin() noexcept {
    // relaxed: ordered by the fence of [s.stop] in withdraw
    stopping_.store(true, relaxed);
  }

  /// Calls `look()`, which may look at the wait points of all that are parked.
  template <class Look>
  void withdraw(Look look) noexcept {
    scoped guard(lock_);
    withdrawing_.store(true, relaxed);  // relaxed: ordered by the fence of [s.stop]
    traits::heavy_fence();  // [s.stop =] `stopping` and `withdrawing` before the points are read
    look();
    // [s.withdraw >] release: our last look at a point, to its owner, which no longer waits for us.
    withdrawing_.store(false, release);
  }
  /// Returns when no thread looks at a point that the caller owns and has withdrawn from view. Call it
  /// after a light fence.
  void wait_for_looks() noexcept {
    // [s.withdraw <] acquire: pairs with the end of the look; its begin is ordered by the fence.
    if (withdrawing_.load(acquire)) [[unlikely]] {
      scoped until_done(lock_);
    }
  }

  /// The last goroutine has ended.
  void tell_drained() noexcept { drained_.wake(); }
  /// Until `is_over()`, by the one thread that stops the runtime; `sleep(note)` until the note's event.
  template <class IsOver, class Sleep>
  void wait_until(IsOver is_over, Sleep sleep) noexcept {
    while (!is_over()) {
      sleep(drained_);
      drained_.clear_while_woken();
    }
  }
  template <class IsOver>
  void wait_until(IsOver is_over) noexcept {
    wait_until(is_over, [](os::note& drained) { drained.sleep(); });
  }

 private:
  atomic<bool> stopping_{false};
  atomic<bool> withdrawing_{false};
  blocking_lock lock_{lock_rank::withdrawal};
  os::note drained_;
};

/// Counts the threads, most of them from outside, that are making a goroutine of this scheduler runnable.
/// Once it is queued, the goroutine may run and end, and its runtime with it. So the thread that destroys
/// the scheduler waits for them.
class waker_count {
 public:
  /// Call it before the goroutine is queued.
  void enter() noexcept {
    count_.fetch_add(1, relaxed);  // relaxed: published by the queue's lock
  }
  /// The caller's last touch of the scheduler.
  void leave() noexcept {
    count_.fetch_sub(1, release);  // [s.visit >] release: our last touch; sees: wait_until_gone
  }
  /// Returns when all of them have left. The thread that destroys the scheduler calls it, once nothing can be
  /// queued any more.
  void wait_until_gone() const noexcept {
    // [s.visit <] acquire: their last touch.
    for (std::uint32_t turn = 0; count_.load(acquire) != 0; ++turn) {
      traits::back_off(turn);
    }
  }

 private:
  atomic<std::uint32_t> count_{0};
};

/// The exit of the process, as one scheduler sees it: see life/process_exit.hpp.
class process_exit_state {
 public:
  /// Whether the exit has begun: the functions that upper layers gave the scheduler to call may be gone.
  bool has_begun() const noexcept { return has_begun_.get(); }

 private:
  friend class process_exit;

  hint<bool> has_begun_{false};
  // -- the monitor only: CPU time of the thread that exits --
  struct {
    std::int64_t cpu = 0;
    std::int64_t when = 0;
    std::int64_t cpu_since = 0;
    std::int64_t since = 0;
  } seen_;
};

class runtime_scheduler;

/// What the registry of all schedulers (life/registry.hpp) knows of one.
class registration {
 public:
  /// Its number among all that were ever registered; constant from then on.
  std::uint64_t number() const noexcept { return number_; }

 private:
  friend class registry;

  // -- under the registry's lock --
  runtime_scheduler* next_ = nullptr;
  std::uint64_t number_ = 0;
  bool is_retired_ = false;
  bool is_shown_ = false;               // complete
  std::atomic<std::uint32_t> pins_{0};  // threads that look at it: it is not destroyed
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
