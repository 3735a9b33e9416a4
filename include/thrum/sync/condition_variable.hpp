// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// condition_variable: wait, under a mutex, until somebody says that something has changed.
//
// A waiter links itself before it unlocks the mutex, and the list stays locked until it has left
// its stack; so whoever changes the condition under the mutex and notifies afterwards finds it, a
// notification goes to a waiter that was there before it, and waiters are served in their order.
// After it has been notified a waiter does not touch the condition variable, which may be gone.
#ifndef THRUM_SYNC_CONDITION_VARIABLE_HPP
#define THRUM_SYNC_CONDITION_VARIABLE_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/order.hpp>
#include <thrum/deadline.hpp>
#include <thrum/panic.hpp>
#include <thrum/sync/mutex.hpp>
#include <thrum/sync/wait_list.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace thrum::inline THRUM_ABI {

/// As std::condition_variable, over std::unique_lock<thrum::mutex>, first come, first served. Waits
/// end only by a notification, in time, or when the runtime stops: they are cancellation points,
/// and have locked the mutex again when goroutine_exit leaves them. A wait until a moment of another
/// clock than the steady one ends as if notified if that clock was set back meanwhile.
class condition_variable {
 public:
  constexpr condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  /// Wakes the one who has waited longest. Does not block; the mutex need not be held.
  void notify_one() noexcept {
    // relaxed: whoever waits for what the caller has changed was counted before it left the mutex
    if (waiting_.load(std::memory_order_relaxed) == 0) {
      return;
    }
    const sched::section here;
    list_lock_.lock();
    sched::wait_point* const point = waiters_.pop(sched::wake_cause::notified);
    if (point != nullptr) {
      waiting_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: locked
    }
    list_lock_.unlock();
    if (point != nullptr) {
      sched::wake(*point);
    }
  }

  /// Wakes all who wait now. Does not block.
  void notify_all() noexcept {
    if (waiting_.load(std::memory_order_relaxed) == 0) {  // relaxed: as in notify_one
      return;
    }
    const sched::section here;
    list_lock_.lock();
    sched::wait_point* const chain = waiters_.take_all(sched::wake_cause::notified);
    waiting_.store(0, std::memory_order_relaxed);  // relaxed: locked
    list_lock_.unlock();
    sched::wake_chain(chain);
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

  template <class Rep, class Period>
  std::cv_status wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> time) {
    return wait_until_ns(lock, sched::deadline_after(time));
  }

  /// Returns what `done()` says at the end.
  template <class Rep, class Period, class Predicate>
  bool wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> time,
                Predicate done) {
    return wait_done(lock, sched::deadline_after(time), done);
  }

  template <class Clock, class Duration>
  std::cv_status wait_until(std::unique_lock<mutex>& lock,
                            std::chrono::time_point<Clock, Duration> when) {
    const std::cv_status status = wait_until_ns(lock, sched::deadline_at(when));
    // Not in the list for a moment, it may have missed a notification: it must not wait on.
    return sched::has_come(when) ? status : std::cv_status::no_timeout;
  }
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

 private:
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

  std::cv_status wait_until_ns(std::unique_lock<mutex>& lock, std::int64_t deadline) {
    if (!lock.owns_lock()) {
      base::throw_usage("condition_variable::wait: the lock does not hold its mutex");
    }
    const sched::wake_cause cause = wait_unlocked(*lock.mutex(), deadline);
    if constexpr (!THRUM_EXCEPTIONS) {
      // It ends where it stands, and nobody would unlock for it.
      sched::exit_if_cancelled<sched::default_traits>(cause);
    }
    lock.mutex()->lock();
    sched::exit_if_cancelled<sched::default_traits>(cause);
    return cause == sched::wake_cause::timed_out ? std::cv_status::timeout
                                                 : std::cv_status::no_timeout;
  }

  sched::wake_cause wait_unlocked(mutex& users, std::int64_t deadline) noexcept {
    sched::section here;
    sched::wait_point point;
    point.g = here.g();
    point.object = this;
    point.withdraw = &withdraw;
    list_lock_.lock();
    waiters_.points.push_back(point);
    // relaxed: published by the unlock of the mutex
    waiting_.fetch_add(1, std::memory_order_relaxed);
    both held{users, list_lock_};
    return sched::wait(here, point, held, {sched::wait_reason::cond_wait, true, deadline});
  }

  static bool withdraw(sched::wait_point& point, bool locked) noexcept {
    auto& self = *static_cast<condition_variable*>(point.object);
    if (!locked) {
      self.list_lock_.lock();
    }
    const bool linked = point.linked;
    if (linked) {
      self.waiters_.points.remove(point);
      self.waiting_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: locked
    }
    if (!locked) {
      self.list_lock_.unlock();
    }
    return linked;
  }

  sched::spin_lock list_lock_;
  std::atomic<std::uint32_t> waiting_{0};  // written under list_lock_
  sched::wait_list waiters_{list_lock_};
};

}  // namespace thrum::inline THRUM_ABI

#endif
