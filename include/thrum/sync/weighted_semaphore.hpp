// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// weighted_semaphore: a number of permits of which a caller takes several at once.
//
// All state is under lock_. Each waiter's wait point leads to the number that it wants.
//
// Invariants
//   WS1  permits are given to waiters from the front of the list only, and to a newcomer only if
//        there is no waiter: many small requests cannot overtake a large one.
//   WS2  when lock_ is dropped, the first waiter wants more than is free; or a waiter that has given
//        up is on its way to serve those behind it.
//   WS3  max_ - free_ are taken. free_ is negative while more are than max_ has been lowered to.
//
// A waiter that gives up serves the others itself, once it runs again: what ends its wait, a timer
// or the stop of its runtime, only takes it out of the list.
//
// Source: golang.org/x/sync/semaphore, from its documentation.
#ifndef THRUM_SYNC_WEIGHTED_SEMAPHORE_HPP
#define THRUM_SYNC_WEIGHTED_SEMAPHORE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/sync/destroyed_waiters.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/stop_condition.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

/// A semaphore whose callers take several permits in one step: bytes of memory, connections. First
/// come, first served, whatever the number: one that asks for many is not overtaken by those that
/// ask for few. For goroutines and foreign threads alike; any of them may release.
///
/// A number that is negative, or above max(), cannot be granted: acquire and its timed forms throw
/// usage_error for it at once, and do not wait for ever; try_acquire returns false for one above
/// max().
class weighted_semaphore {
 public:
  /// All of `permits` are free. usage_error if it is negative.
  explicit constexpr weighted_semaphore(std::ptrdiff_t permits) : free_(permits), max_(permits) {
    if (permits < 0) {
      base::throw_usage("weighted_semaphore: the number of permits is negative");
    }
  }
  weighted_semaphore(const weighted_semaphore&) = delete;
  weighted_semaphore& operator=(const weighted_semaphore&) = delete;
  ~weighted_semaphore() { end_waits("weighted_semaphore: it"); }

  /// How many permits there are, free or taken.
  std::ptrdiff_t max() const noexcept;

  /// Changes that. If more are taken at the moment, none is granted until enough have come back. One
  /// that waits for more than there are now waits on, and those behind it. usage_error if it is
  /// negative. Does not block.
  void max(std::ptrdiff_t permits);

  /// Takes n permits; blocks until they are free and all that came before have theirs. A
  /// cancellation point.
  void acquire(std::ptrdiff_t n = 1) { acquire_until(n, sched::no_deadline); }

  /// Takes n permits if they are free and no caller waits. Does not block. usage_error if n is negative.
  [[nodiscard]] bool try_acquire(std::ptrdiff_t n = 1);

  /// As acquire, within a time; whether it took them. A cancellation point.
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(std::ptrdiff_t n, std::chrono::duration<Rep, Period> time) {
    return acquire_until(n, time_detail::deadline_after(time));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(std::ptrdiff_t n,
                                       std::chrono::time_point<Clock, Duration> when) {
    return time_detail::retry_until(
        when, [this, n](std::int64_t deadline) { return acquire_until(n, deadline); });
  }

  /// As acquire, unless a stop is requested; whether it took them. A cancellation point.
  template <until_condition Stop>
  [[nodiscard]] bool acquire(std::ptrdiff_t n, const Stop& stop) {
    return stop_detail::until_stopped(
        stop, [this, n](std::int64_t deadline) { return acquire_until(n, deadline); });
  }

  /// Gives n permits back, and hands them to those that wait. usage_error if n is negative or more
  /// than are taken. Does not block.
  void release(std::ptrdiff_t n = 1);

 private:
  friend class task_group;

  /// `what` is destroyed, in which it is.
  void end_waits(const char* what) noexcept {
    if (!waiters_.empty()) [[unlikely]] {
      sync_detail::end_waits(what, lock_, waiters_.points);
    }
  }

  bool acquire_until(std::ptrdiff_t n, std::int64_t deadline);

  /// WS1. Whether n permits were taken. Caller holds the lock.
  bool take_locked(std::ptrdiff_t n) noexcept;

  sched::wake_cause wait_for_permits(std::ptrdiff_t n, std::int64_t deadline) noexcept;

  /// Adds n to what is free and serves those that it is enough for; false if there would be more
  /// than there are.
  bool give(std::ptrdiff_t n) noexcept;

  /// Serves those that wait, as far as free_ allows. Caller holds the lock, and wakes them.
  void serve_locked(sched::wake_list& released) noexcept;

  std::ptrdiff_t free_;  // under lock_
  std::ptrdiff_t max_;   // under lock_
  mutable sched::spin_lock lock_{sched::lock_rank::waiters};
  sync_detail::wait_list waiters_{lock_};
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/sched/run/goroutine_exit.hpp>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE std::ptrdiff_t weighted_semaphore::max() const noexcept {
  const sched::section here;
  const sched::scoped guard(lock_);
  return max_;
}

THRUM_OUT_OF_LINE void weighted_semaphore::max(std::ptrdiff_t permits) {
  if (permits < 0) {
    base::throw_usage("weighted_semaphore::max: the number of permits is negative");
  }
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  free_ = permits - (max_ - free_);  // WS3
  max_ = permits;
  serve_locked(released);
  lock_.unlock();
  released.wake_all();
}

THRUM_OUT_OF_LINE bool weighted_semaphore::try_acquire(std::ptrdiff_t n) {
  if (n < 0) {
    base::throw_usage("weighted_semaphore::try_acquire: the number of permits is negative");
  }
  const sched::section here;
  const sched::scoped guard(lock_);
  return take_locked(n);
}

THRUM_OUT_OF_LINE void weighted_semaphore::release(std::ptrdiff_t n) {
  if (n < 0 || !give(n)) {
    base::throw_usage(
        "weighted_semaphore::release: the number of permits is negative or exceeds the number that "
        "was acquired");
  }
}

THRUM_OUT_OF_LINE bool weighted_semaphore::acquire_until(std::ptrdiff_t n, std::int64_t deadline) {
  const sched::wake_cause cause = wait_for_permits(n, deadline);
  if (cause == sched::wake_cause::closed) {
    base::throw_usage(
        "weighted_semaphore::acquire: the number of permits is negative or exceeds max()");
  }
  if (cause == sched::wake_cause::none) {
    sync_detail::after_operation();
    return true;
  }
  if (cause != sched::wake_cause::notified) {
    give(0);  // WS2
  }
  sched::exit_if_cancelled(cause);
  return cause == sched::wake_cause::notified;
}

THRUM_OUT_OF_LINE bool weighted_semaphore::take_locked(std::ptrdiff_t n) noexcept {
  const bool granted = waiters_.empty() && n <= free_;
  if (granted) {
    free_ -= n;
  }
  return granted;
}

/// `none`: there was no need to wait; `closed`: it would be in vain.
THRUM_OUT_OF_LINE sched::wake_cause weighted_semaphore::wait_for_permits(
    std::ptrdiff_t n, std::int64_t deadline) noexcept {
  sched::section here;
  sync_detail::waiting self(here, waiters_, &n);
  lock_.lock();
  const bool is_possible = n >= 0 && n <= max_;
  if (!is_possible || take_locked(n)) {
    lock_.unlock();
    return is_possible ? sched::wake_cause::none : sched::wake_cause::closed;
  }
  return self.wait({sched::wait_reason::semaphore_acquire, true, deadline});
}

THRUM_OUT_OF_LINE bool weighted_semaphore::give(std::ptrdiff_t n) noexcept {
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  const bool fits = n <= max_ - free_;
  if (fits) {
    free_ += n;
    serve_locked(released);
  }
  lock_.unlock();
  released.wake_all();
  return fits;
}

THRUM_OUT_OF_LINE void weighted_semaphore::serve_locked(sched::wake_list& released) noexcept {
  while (const sched::wait_point* const first = waiters_.points.front()) {
    const std::ptrdiff_t wanted = *static_cast<const std::ptrdiff_t*>(first->slot);
    if (wanted > free_) {
      break;
    }
    free_ -= wanted;
    released.push_back(waiters_.pop(sched::wake_cause::notified));
  }
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
