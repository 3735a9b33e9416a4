// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// latch: a count that goes down to zero once.
//
// A count_down() that brings the count to zero does so under the lock, and a wait() that sees zero
// passes through the lock before it returns: so a latch may be destroyed as soon as wait() has
// returned, although the last count_down() is perhaps still about to return.
#ifndef THRUM_SYNC_LATCH_HPP
#define THRUM_SYNC_LATCH_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/order.hpp>
#include <thrum/panic.hpp>
#include <thrum/sync/wait_list.hpp>

#include <atomic>
#include <cstddef>
#include <limits>

namespace thrum { inline namespace THRUM_ABI {

/// As std::latch. wait is a cancellation point.
class latch {
 public:
  /// usage_error if `count` is negative.
  explicit constexpr latch(std::ptrdiff_t count) : count_(count) {
    if (count < 0) {
      base::throw_usage("latch: the count is negative");
    }
  }
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;

  /// The greatest count.
  static constexpr std::ptrdiff_t max() noexcept {
    return std::numeric_limits<std::ptrdiff_t>::max();
  }

  /// Lowers the count by n; at zero, wakes all that wait. usage_error if n is negative or above the
  /// count. Does not block.
  void count_down(std::ptrdiff_t n = 1) {
    using namespace base::orders;
    std::ptrdiff_t count = count_.load(relaxed);  // relaxed: the exchange decides
    for (;;) {
      if (n < 0 || n > count) {
        throw_too_much();
      }
      if (n == count) {
        break;
      }
      // [la.count >] release: what we did before, to those that wait; relaxed: looks at it again
      if (count_.compare_exchange_weak(count, count - n, release, relaxed)) {
        return;
      }
    }
    if (n != 0 && !open(n)) {
      throw_too_much();
    }
  }

  /// Whether the count is zero. Does not block.
  [[nodiscard]] bool try_wait() const noexcept {
    if (count_.load(std::memory_order_relaxed) != 0) {  // relaxed: the lock orders the zero
      return false;
    }
    const sched::section here;
    const sched::scoped last_one_has_left(lock_);
    return true;
  }

  /// Blocks until the count is zero. A cancellation point.
  void wait() const {
    if (!try_wait()) {
      wait_for_zero();
    } else {
      sched::after_operation();
    }
  }

  /// count_down(n) and wait().
  void arrive_and_wait(std::ptrdiff_t n = 1) {
    count_down(n);
    wait();
  }

 private:
  [[noreturn]] THRUM_COLD static void throw_too_much() {
    base::throw_usage("latch::count_down: by a negative number, or by more than is left");
  }

  /// Takes the last n off the count. False: somebody else has taken of them meanwhile.
  THRUM_COLD bool open(std::ptrdiff_t n) noexcept {
    using namespace base::orders;
    const sched::section here;
    sched::wait_point* chain = nullptr;
    lock_.lock();
    std::ptrdiff_t count = count_.load(relaxed);  // relaxed: the exchange decides
    // [la.count <>] acq_rel: what all have done before; relaxed: looks at it again
    while (count == n && !count_.compare_exchange_weak(count, 0, acq_rel, relaxed)) {
    }
    if (count == n) {
      chain = waiters_.take_all(sched::wake_cause::notified);
    }
    lock_.unlock();
    sched::wake_chain(chain);
    return count == n;
  }

  THRUM_COLD void wait_for_zero() const { sched::exit_if_cancelled(wait_locked()); }

  sched::wake_cause wait_locked() const noexcept {
    sched::section here;
    sched::waiting self(here, waiters_);
    lock_.lock();
    if (count_.load(std::memory_order_relaxed) == 0) {  // relaxed: the zero is set under the lock
      lock_.unlock();
      return sched::wake_cause::notified;
    }
    return self.wait({sched::wait_reason::latch_wait});
  }

  std::atomic<std::ptrdiff_t> count_;
  mutable sched::spin_lock lock_{sched::lock_rank::waiters};
  mutable sched::wait_list waiters_{lock_};
};

}}  // namespace thrum::THRUM_ABI

#endif
