// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// condition_variable: wait, under a mutex, for a notification that something has changed.
//
// A waiter links itself before it unlocks the mutex, and the list stays locked until it has left
// its stack; so a caller that changes the condition under the mutex and notifies afterwards finds
// it, a notification goes to a waiter that was there before it, and waiters are served in their
// order. After it has been notified a waiter does not touch the condition variable, which may be
// gone.
#ifndef THRUM_SYNC_CONDITION_VARIABLE_HPP
#define THRUM_SYNC_CONDITION_VARIABLE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/sync/destroyed_waiters.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/stop_condition.hpp>
#include <thrum/sync/mutex.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// As std::condition_variable, over std::unique_lock<thrum::mutex>, first come, first served. Waits
/// end only by a notification, in time, or when the runtime stops: they are cancellation points,
/// and have locked the mutex again when goroutine_exit leaves them.
class condition_variable {
 public:
  constexpr condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;
  ~condition_variable() {
    if (!waiters_.empty()) [[unlikely]] {
      sync_detail::end_waits("condition_variable: it", list_lock_, waiters_.points);
    }
  }

  /// Wakes the one that has waited longest. Does not block; the mutex need not be held.
  void notify_one() noexcept {
    // relaxed: a waiter for what the caller has changed set this before it left the mutex
    if (!may_be_waited_for_.load(std::memory_order_relaxed)) {
      return;
    }
    const sched::section here;
    list_lock_.lock();
    sched::wait_point* const point = waiters_.pop(sched::wake_cause::notified);
    if (waiters_.empty()) {
      may_be_waited_for_.store(false, std::memory_order_relaxed);  // relaxed: under the lock
    }
    list_lock_.unlock();
    if (point != nullptr) {
      sched::wake(*point);
    }
  }

  /// Wakes all that wait now. Does not block.
  void notify_all() noexcept {
    if (!may_be_waited_for_.load(std::memory_order_relaxed)) {  // relaxed: as in notify_one
      return;
    }
    const sched::section here;
    list_lock_.lock();
    sched::wake_list released;
    waiters_.take_all(sched::wake_cause::notified, released);
    may_be_waited_for_.store(false, std::memory_order_relaxed);  // relaxed: under the lock
    list_lock_.unlock();
    released.wake_all();
  }

  /// Unlocks, waits for a notification, locks again. usage_error if the lock does not hold its
  /// mutex.
  void wait(std::unique_lock<mutex>& lock) { wait_until_ns(lock, sched::no_deadline); }

  /// Waits until `done()`; it is called with the mutex locked.
  template <class Predicate>
  void wait(std::unique_lock<mutex>& lock, Predicate done) {
    while (!done()) {
      wait(lock);
    }
  }

  /// As wait(), for some time at most; cv_status::timeout if it has passed. Not positive: unlocks,
  /// locks and returns.
  template <class Rep, class Period>
  std::cv_status wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> time) {
    return wait_until_ns(lock, time_detail::deadline_after(time));
  }

  /// Waits until `done()`, for some time at most. Returns what it says at the end.
  template <class Rep, class Period, class Predicate>
  bool wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> time,
                Predicate done) {
    return wait_done(lock, time_detail::deadline_after(time), done);
  }

  /// As wait_for, until a moment of any clock. cv_status::timeout only if that clock says that it has
  /// come: as the standard's, returns no_timeout without a notification if the clock is late.
  template <class Clock, class Duration>
  std::cv_status wait_until(std::unique_lock<mutex>& lock,
                            std::chrono::time_point<Clock, Duration> when) {
    const std::cv_status status = wait_until_ns(lock, time_detail::deadline_at(when));
    // Not in the list for a moment, it may have missed a notification: it must not wait on.
    return time_detail::has_come(when) ? status : std::cv_status::no_timeout;
  }

  /// Waits until `done()`, or until the moment has come. Returns what `done()` says at the end.
  template <class Clock, class Duration, class Predicate>
  bool wait_until(std::unique_lock<mutex>& lock, std::chrono::time_point<Clock, Duration> when,
                  Predicate done) {
    while (!done()) {
      if (wait_until(lock, when) == std::cv_status::timeout) {
        return done();
      }
    }
    return true;
  }

  /// Say of a lock of another mutex that it is none of these.
  template <class Other, class... Args>
  requires(!std::is_same_v<Other, mutex>) void wait(std::unique_lock<Other>& lock, Args&&...) {
    must_be_ours(lock);
  }
  template <class Other, class... Args>
  requires(!std::is_same_v<Other, mutex>) bool wait_for(std::unique_lock<Other>& lock, Args&&...) {
    return must_be_ours(lock);
  }
  template <class Other, class... Args>
  requires(!std::is_same_v<Other, mutex>) bool wait_until(std::unique_lock<Other>& lock,
                                                          Args&&...) {
    return must_be_ours(lock);
  }

  /// The forms that a stop ends too, as of condition_variable_any: what `done()` says at the end, false
  /// if it has not come true before the stop. A cancellation point.
  template <until_condition Stop, class Predicate>
  bool wait(std::unique_lock<mutex>& lock, const Stop& stop, Predicate done) {
    while (!done()) {
      bool has_waited = false;
      const std::cv_status status = stop_detail::until_stopped(
          stop,
          [&](std::int64_t deadline) {
            // Not in the list for a moment, it may have missed a notification: done() comes first.
            return std::exchange(has_waited, true) ? std::cv_status::no_timeout
                                                   : wait_until_ns(lock, deadline);
          },
          [](std::cv_status how) { return how == std::cv_status::timeout; });
      if (status == std::cv_status::timeout) {
        return done();
      }
    }
    return true;
  }

 private:
  template <class Other>
  static bool must_be_ours(std::unique_lock<Other>& /*lock*/) {
    static_assert(std::is_same_v<Other, mutex>,
                  "condition_variable: the lock must be a std::unique_lock<thrum::mutex>; use "
                  "condition_variable_any with any other lock");
    return false;
  }

  /// What a waiter holds until it has left its stack. Lives in its frame, which is there until the
  /// list is unlocked.
  struct both {
    mutex& users;
    sched::spin_lock& list;

    void unlock() {
      sched::spin_lock& last = list;
      users.unlock();
      last.unlock();
    }
  };

  template <class Predicate>
  bool wait_done(std::unique_lock<mutex>& lock, std::int64_t deadline, Predicate& done) {
    while (!done()) {
      if (wait_until_ns(lock, deadline) == std::cv_status::timeout) {
        return done();
      }
    }
    return true;
  }

  std::cv_status wait_until_ns(std::unique_lock<mutex>& lock, std::int64_t deadline);

  sched::wake_cause wait_unlocked(mutex& users, std::int64_t deadline) noexcept;

  sched::spin_lock list_lock_{sched::lock_rank::waiters};
  // Written under list_lock_; false: the list is empty. A waiter that gives up leaves it as it is:
  // else the caller of a notify that sees false could destroy the condition variable while that
  // waiter still holds the lock.
  std::atomic<bool> may_be_waited_for_{false};
  sync_detail::wait_list waiters_{list_lock_};
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE std::cv_status condition_variable::wait_until_ns(std::unique_lock<mutex>& lock,
                                                                   std::int64_t deadline) {
  if (!lock.owns_lock()) {
    base::throw_usage(
        "condition_variable::wait: the lock does not hold its mutex; lock it before the wait");
  }
  const sched::wake_cause cause = wait_unlocked(*lock.mutex(), deadline);
  if constexpr (!THRUM_EXCEPTIONS) {
    // The goroutine ends right here, and no destructor would unlock for it.
    sched::exit_if_cancelled(cause);
  }
  lock.mutex()->lock();
  sched::exit_if_cancelled(cause);
  return cause == sched::wake_cause::timed_out ? std::cv_status::timeout
                                               : std::cv_status::no_timeout;
}

THRUM_OUT_OF_LINE sched::wake_cause condition_variable::wait_unlocked(
    mutex& users, std::int64_t deadline) noexcept {
  sched::section here;
  sched::wait_point point;
  point.g = here.g();
  point.object = &waiters_;
  point.withdraw = &sync_detail::wait_list::withdraw;
  list_lock_.lock();
  waiters_.points.push_back(point);
  // relaxed: published by the unlock of the mutex
  may_be_waited_for_.store(true, std::memory_order_relaxed);
  both held{users, list_lock_};
  return sched::wait(here, point, held, {sched::wait_reason::cond_wait, true, deadline});
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
