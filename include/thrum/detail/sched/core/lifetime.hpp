// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The end of a runtime: that it has begun, and that the last goroutine has ended.
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

}}}  // namespace thrum::THRUM_ABI::sched

#endif
