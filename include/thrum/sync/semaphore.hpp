// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// counting_semaphore: a number of permits.
//
// State
//   count_    permits that are free, or, below zero, how many wait or are about to
//   owed_     permits that release() has for a waiter that is not linked yet
//
// Invariants
//   SM1  a caller that lowers count_ to below zero is served by exactly one unit of a release that
//        raised it from below zero; both meet under lock_, in whichever order.
//   SM2  a waiter that gives up raises count_ only while it is below zero: at zero or above, the
//        release that raised it is on its way to serve this waiter.
// So waiters are served in the order of their arrival, and a newcomer cannot take what was released
// for them.
#ifndef THRUM_SYNC_SEMAPHORE_HPP
#define THRUM_SYNC_SEMAPHORE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/sync/destroyed_waiters.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/stop_condition.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace thrum { inline namespace THRUM_ABI {

namespace coroutine_detail {
struct object_access;
}

/// As std::counting_semaphore, first come, first served, for goroutines and foreign threads alike.
/// acquire is a cancellation point.
template <std::ptrdiff_t LeastMax = std::numeric_limits<std::ptrdiff_t>::max()>
class counting_semaphore {
 public:
  static_assert(LeastMax >= 0);

  /// usage_error if `permits` is negative or above max().
  explicit constexpr counting_semaphore(std::ptrdiff_t permits) : count_(permits) {
    if (permits < 0 || permits > LeastMax) {
      base::throw_usage("counting_semaphore: the number of permits is negative or exceeds max()");
    }
  }
  counting_semaphore(const counting_semaphore&) = delete;
  counting_semaphore& operator=(const counting_semaphore&) = delete;
  ~counting_semaphore() {
    if (waiters_.front() != nullptr) [[unlikely]] {
      sync_detail::end_waits("counting_semaphore: it", lock_, waiters_);
    }
  }

  /// The greatest number of free permits.
  static constexpr std::ptrdiff_t max() noexcept { return LeastMax; }

  /// Takes a permit; blocks until there is one. A cancellation point.
  void acquire() { acquire_until(sched::no_deadline); }

  /// Takes a permit if one is free. Does not block.
  [[nodiscard]] bool try_acquire() noexcept {
    using namespace base::orders;
    std::ptrdiff_t count = count_.load(relaxed);
    while (count > 0) {
      // [sem.count <] acquire: what was done before the release
      if (count_.compare_exchange_weak(count, count - 1, std::memory_order_acquire, relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// Takes a permit within a time; whether it did. A cancellation point.
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> time) {
    return try_acquire() || acquire_until(time_detail::deadline_after(time));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(std::chrono::time_point<Clock, Duration> when) {
    return try_acquire() || time_detail::retry_until(when, [this](std::int64_t deadline) {
             return acquire_until(deadline);
           });
  }

  /// Takes a permit; blocks until there is one, or a stop is requested; whether it took one. A
  /// cancellation point.
  template <until_condition Stop>
  [[nodiscard]] bool acquire(const Stop& stop) {
    return try_acquire() || stop_detail::until_stopped(stop, [this](std::int64_t deadline) {
             return acquire_until(deadline);
           });
  }

  /// Adds permits, and hands them to those that wait. usage_error if n is negative or there would
  /// be more than max(). Does not block.
  void release(std::ptrdiff_t n = 1) {
    using namespace base::orders;
    std::ptrdiff_t before = count_.load(relaxed);
    do {
      if (n < 0 || before > LeastMax - n) {
        base::throw_usage(
            "counting_semaphore::release: the number of permits is negative, or there would be "
            "more than max()");
      }
      // [sem.count >] release: what we did, to the acquire that gets the permit
    } while (!count_.compare_exchange_weak(before, before + n, std::memory_order_release, relaxed));
    if (before < 0) [[unlikely]] {
      serve(-before < n ? -before : n);
    }
  }

 private:
  friend struct coroutine_detail::object_access;

  bool acquire_until(std::int64_t deadline) {
    using namespace base::orders;
    // [sem.count <] acquire: what was done before the release.
    if (count_.fetch_sub(1, std::memory_order_acquire) > 0) {
      sync_detail::after_operation();
      return true;
    }
    const sched::wake_cause cause = wait_for_permit(deadline);
    sched::exit_if_cancelled(cause);
    return cause == sched::wake_cause::notified;
  }

  THRUM_COLD sched::wake_cause wait_for_permit(std::int64_t deadline) noexcept {
    sched::section here;
    sched::wait_point point(here.g(), this, &withdraw);
    lock_.lock();
    if (owed_ > 0) {
      --owed_;
      lock_.unlock();
      return sched::wake_cause::notified;
    }
    waiters_.push_back(point);
    return sched::wait(here, point, lock_, {sched::wait_reason::semaphore_acquire, true, deadline});
  }

  /// SM1. Permits for n callers that wait, or will in a moment.
  THRUM_COLD void serve(std::ptrdiff_t n) noexcept {
    const sched::section here;
    sched::wake_list released;
    lock_.lock();
    for (; n > 0; --n) {
      sched::wait_point* const point = waiters_.pop_front();
      if (point == nullptr) {
        owed_ += static_cast<std::int32_t>(n);
        break;
      }
      settle(*point, sched::wake_cause::notified);
      released.push_back(point);
    }
    lock_.unlock();
    released.wake_all();
  }

  /// SM2.
  static sched::withdrawal withdraw(sched::wait_point& point, bool locked) noexcept {
    auto& self = *static_cast<counting_semaphore*>(point.object);
    return sched::unlink_under(self.lock_, locked,
                               [&]() noexcept { return self.give_up_locked(point); });
  }
  bool give_up_locked(sched::wait_point& point) noexcept {
    using namespace base::orders;
    bool ours = point.linked;
    if (ours) {
      std::ptrdiff_t count = count_.load(relaxed);
      do {
        ours = count < 0;
        // relaxed: gives back a claim that no release has met
      } while (ours && !count_.compare_exchange_weak(count, count + 1, relaxed, relaxed));
      if (ours) {
        waiters_.remove(point);
      }
    }
    return ours;
  }

  std::atomic<std::ptrdiff_t> count_;
  base::intrusive_ring<sched::wait_point> waiters_;  // under lock_
  sched::spin_lock lock_{sched::lock_rank::waiters};
  std::int32_t owed_ = 0;  // under lock_; there are not so many goroutines and threads
};

/// One permit, which any goroutine or thread may give back.
using binary_semaphore = counting_semaphore<1>;

}}  // namespace thrum::THRUM_ABI

#endif
