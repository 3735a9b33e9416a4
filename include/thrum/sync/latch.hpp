// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// latch: a count that goes down to zero once.
//
// A count_down() that brings the count to zero does so under the lock, and a wait() that sees zero
// passes through the lock before it returns: so a latch may be destroyed as soon as wait() has
// returned, although the last count_down() is perhaps still about to return. arrive_and_wait() lowers
// the count and joins the waiters in one step, under the lock; its last caller leaves the latch alone
// once the others are woken. So a latch may also be destroyed as soon as one such call has returned.
#ifndef THRUM_SYNC_LATCH_HPP
#define THRUM_SYNC_LATCH_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sync/destroyed_waiters.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/stop_condition.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace thrum { inline namespace THRUM_ABI {

/// As std::latch. wait is a cancellation point. It may be destroyed once a wait() has returned, or an
/// arrive_and_wait() without a stop, if the others that have arrived are in such calls, too.
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
  ~latch() {
    if (waiters_.front() != nullptr) [[unlikely]] {
      sync_detail::end_waits("latch: it", lock_, waiters_);
    }
  }

  /// The greatest count.
  static constexpr std::ptrdiff_t max() noexcept {
    return std::numeric_limits<std::ptrdiff_t>::max();
  }

  /// Lowers the count by n; at zero, wakes all that wait. usage_error if n is negative or above the
  /// count. Does not block.
  void count_down(std::ptrdiff_t n = 1) {
    using namespace base::orders;
    std::ptrdiff_t count = count_.load(relaxed);
    for (;;) {
      if (n < 0 || n > count) {
        throw_too_much();
      }
      if (n == count) {
        break;
      }
      // [la.count >] release: what we did before, to those that wait
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
      wait_for_zero(sched::no_deadline);
    } else {
      sync_detail::after_operation();
    }
  }

  /// wait() until a stop is requested; returns whether the count is zero. A cancellation point.
  template <until_condition Stop>
  [[nodiscard]] bool wait(const Stop& stop) const {
    return try_wait() || stop_detail::until_stopped(stop, [this](std::int64_t deadline) {
             return wait_for_zero(deadline);
           });
  }

  /// Lowers the count by n as count_down(), and blocks until it is zero. A cancellation point.
  void arrive_and_wait(std::ptrdiff_t n = 1);

  /// arrive_and_wait(n) until a stop is requested; returns whether the count is zero. It is lowered in any
  /// case.
  template <until_condition Stop>
  [[nodiscard]] bool arrive_and_wait(std::ptrdiff_t n, const Stop& stop) {
    count_down(n);
    return wait(stop);
  }

 private:
  enum class outcome : std::uint8_t { too_much, last, others_missing };

  struct arrival {
    outcome how;
    sched::wake_cause cause;  // of one that has waited
  };

  arrival arrive_and_park(std::ptrdiff_t n) noexcept;

  /// Caller holds the lock.
  void take_all_locked(sched::wake_list& released) noexcept;

  [[noreturn]] [[gnu::cold]] static void throw_too_much();

  /// Takes the last n off the count. False: another caller has lowered it meanwhile.
  [[gnu::cold]] bool open(std::ptrdiff_t n) noexcept;

  /// Whether it is zero.
  [[gnu::cold]] bool wait_for_zero(std::int64_t deadline) const;

  sched::wake_cause wait_locked(std::int64_t deadline) const noexcept;

  static sched::withdrawal withdraw(sched::wait_point& point, bool locked) noexcept;

  std::atomic<std::ptrdiff_t> count_;
  mutable base::intrusive_ring<sched::wait_point> waiters_;  // under lock_
  mutable sched::spin_lock lock_{sched::lock_rank::waiters};
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/sched/run/goroutine_exit.hpp>

namespace thrum { inline namespace THRUM_ABI {

THRUM_COLD THRUM_OUT_OF_LINE void latch::throw_too_much() {
  base::throw_usage("latch::count_down: the number is negative or exceeds the count");
}

THRUM_OUT_OF_LINE void latch::take_all_locked(sched::wake_list& released) noexcept {
  sync_detail::wait_list all(lock_);
  all.points = waiters_.take_all();
  all.take_all(sched::wake_cause::notified, released);
}

THRUM_OUT_OF_LINE void latch::arrive_and_wait(std::ptrdiff_t n) {
  const arrival mine = arrive_and_park(n);
  switch (mine.how) {
    case outcome::too_much: throw_too_much();
    case outcome::last: sync_detail::after_operation(); break;
    case outcome::others_missing: sched::exit_if_cancelled(mine.cause); break;
  }
}

THRUM_OUT_OF_LINE latch::arrival latch::arrive_and_park(std::ptrdiff_t n) noexcept {
  using namespace base::orders;
  sched::section here;
  sched::wait_point point(here.g(), this, &withdraw);
  lock_.lock();
  std::ptrdiff_t count = count_.load(relaxed);
  do {
    if (n < 0 || n > count) {
      lock_.unlock();
      return {outcome::too_much, sched::wake_cause::none};
    }
    // [la.count <>] acq_rel: what all have done before
  } while (!count_.compare_exchange_weak(count, count - n, acq_rel, relaxed));
  if (count == n) {
    sched::wake_list released;
    take_all_locked(released);
    lock_.unlock();
    released.wake_all();
    return {outcome::last, sched::wake_cause::notified};
  }
  waiters_.push_back(point);
  return {
      outcome::others_missing,
      sched::wait(here, point, lock_, {sched::wait_reason::latch_wait, true, sched::no_deadline})};
}

THRUM_COLD THRUM_OUT_OF_LINE bool latch::open(std::ptrdiff_t n) noexcept {
  using namespace base::orders;
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  std::ptrdiff_t count = count_.load(relaxed);
  // [la.count <>] acq_rel: what all have done before
  while (count == n && !count_.compare_exchange_weak(count, 0, acq_rel, relaxed)) {
  }
  if (count == n) {
    take_all_locked(released);
  }
  lock_.unlock();
  released.wake_all();
  return count == n;
}

THRUM_COLD THRUM_OUT_OF_LINE bool latch::wait_for_zero(std::int64_t deadline) const {
  const sched::wake_cause cause = wait_locked(deadline);
  sched::exit_if_cancelled(cause);
  return cause == sched::wake_cause::notified;
}

THRUM_OUT_OF_LINE sched::wake_cause latch::wait_locked(std::int64_t deadline) const noexcept {
  sched::section here;
  sched::wait_point point(here.g(), const_cast<latch*>(this), &withdraw);
  lock_.lock();
  if (count_.load(std::memory_order_relaxed) == 0) {  // relaxed: the zero is set under the lock
    lock_.unlock();
    return sched::wake_cause::notified;
  }
  waiters_.push_back(point);
  return sched::wait(here, point, lock_, {sched::wait_reason::latch_wait, true, deadline});
}

THRUM_OUT_OF_LINE sched::withdrawal latch::withdraw(sched::wait_point& point,
                                                    bool locked) noexcept {
  auto& self = *static_cast<latch*>(point.object);
  return sched::unlink_under(self.lock_, locked, [&]() noexcept {
    const bool was_linked = point.linked;
    if (was_linked) {
      self.waiters_.remove(point);
    }
    return was_linked;
  });
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
