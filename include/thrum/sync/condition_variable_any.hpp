// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// condition_variable_any: a condition variable over any lock, that a stop request can end.
//
// A waiter links itself, unlocks the user's lock, and then parks unless it has been notified in
// between. The user's unlock() is arbitrary code, so it runs on the waiter's own stack and without
// a lock of ours. What is shared with the waiters is counted: the condition variable may be
// destroyed once all of them have been notified.
#ifndef THRUM_SYNC_CONDITION_VARIABLE_ANY_HPP
#define THRUM_SYNC_CONDITION_VARIABLE_ANY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/stoppable.hpp>
#include <thrum/detail/sync/wait_list.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// As std::condition_variable_any. Waits are cancellation points, and have locked the lock again
/// when goroutine_exit leaves them.
class condition_variable_any {
 public:
  /// Allocates what it shares with those that wait.
  condition_variable_any();
  condition_variable_any(const condition_variable_any&) = delete;
  condition_variable_any& operator=(const condition_variable_any&) = delete;
  ~condition_variable_any() { inside_->end_waits(); }

  /// Wakes the one that has waited longest. Does not block.
  void notify_one() noexcept { inside_->notify(1); }

  /// Wakes all that wait now. Does not block.
  void notify_all() noexcept { inside_->notify(inside::all); }

  /// The forms without a stop_token, as in the standard: the caller has locked `lock`; it is
  /// unlocked during the wait and locked again at the end, also if goroutine_exit ends it. `done()`
  /// is called with it locked. What unlock() throws leaves the wait, which has then not begun.
  template <class Lock>
  void wait(Lock& lock) {
    wait_until_ns(lock, sched::no_deadline);
  }
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate done) {
    while (!done()) {
      wait(lock);
    }
  }
  template <class Lock, class Rep, class Period>
  std::cv_status wait_for(Lock& lock, std::chrono::duration<Rep, Period> time) {
    return wait_until_ns(lock, time_detail::deadline_after(time));
  }
  template <class Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, std::chrono::duration<Rep, Period> time, Predicate done) {
    return wait_done(lock, time_detail::deadline_after(time), done);
  }
  template <class Lock, class Clock, class Duration>
  std::cv_status wait_until(Lock& lock, std::chrono::time_point<Clock, Duration> when) {
    return wait_until_moment(lock, when, {});
  }
  template <class Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, std::chrono::time_point<Clock, Duration> when, Predicate done) {
    while (!done()) {
      if (wait_until(lock, when) == std::cv_status::timeout) {
        return done();
      }
    }
    return true;
  }

  /// The forms that a stop request ends too, by any thread. Each returns what `done()` says at the
  /// end, false if it has not come true before the request.
  template <class Lock, class Predicate>
  bool wait(Lock& lock, std::stop_token token, Predicate done) {
    return wait_stoppable(std::move(token), done, [&](const std::stop_token& stop) {
      return wait_until_ns(lock, sched::no_deadline, stop);
    });
  }
  /// wait(lock, token, done) with a context, whose deadline ends it too, with a time, or with a moment.
  template <class Lock, until_condition Stop, class Predicate>
  bool wait(Lock& lock, const Stop& stop, Predicate done) {
    const auto& end = stop_detail::ending(stop);
    return wait_stoppable(stop_detail::token_of(end), done, [&](const std::stop_token& token) {
      const std::cv_status status = wait_until_ns(lock, stop_detail::deadline_of(end), token);
      // A deadline by another clock may not have come yet.
      return stop_detail::is_over(end) ? status : std::cv_status::no_timeout;
    });
  }
  template <class Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, std::stop_token token, std::chrono::duration<Rep, Period> time,
                Predicate done) {
    const std::int64_t deadline = time_detail::deadline_after(time);
    return wait_stoppable(std::move(token), done, [&](const std::stop_token& stop) {
      return wait_until_ns(lock, deadline, stop);
    });
  }
  template <class Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, std::stop_token token, std::chrono::time_point<Clock, Duration> when,
                  Predicate done) {
    return wait_stoppable(std::move(token), done, [&](const std::stop_token& stop) {
      return wait_until_moment(lock, when, stop);
    });
  }

 private:
  struct waiter : sched::wait_point {
    bool is_parked = false;  // under the list's lock
  };

  struct inside {
    static constexpr std::size_t all = static_cast<std::size_t>(-1);

    sched::spin_lock lock{sched::lock_rank::waiters};
    sync_detail::wait_list waiters{lock};

    void notify(std::size_t n) noexcept;

    /// The condition variable is destroyed.
    void end_waits() noexcept;
  };

  /// Waits for a notification, unless a stop is requested.
  template <class Lock>
  std::cv_status wait_until_ns(Lock& lock, std::int64_t deadline,
                               const std::stop_token& token = {}) {
    const std::shared_ptr<inside> shared = inside_;
    waiter point;
    point.object = &shared->waiters;
    point.withdraw = &sync_detail::wait_list::withdraw;
    {
      const sched::section here;
      const sched::scoped guard(shared->lock);
      shared->waiters.points.push_back(point);
    }
    const unlocked users(lock, point);
    const sched::wake_cause cause = wait_linked(*shared, point, deadline, token);
    sched::exit_if_cancelled(cause);
    return cause == sched::wake_cause::timed_out ? std::cv_status::timeout
                                                 : std::cv_status::no_timeout;
  }

  template <class Lock, class Clock, class Duration>
  std::cv_status wait_until_moment(Lock& lock, std::chrono::time_point<Clock, Duration> when,
                                   const std::stop_token& token) {
    const std::cv_status status = wait_until_ns(lock, time_detail::deadline_at(when), token);
    // Not in the list for a moment, it may have missed a notification: it must not wait on.
    return time_detail::has_come(when) ? status : std::cv_status::no_timeout;
  }

  /// Parks a point that may have been notified already.
  static sched::wake_cause wait_linked(inside& shared, waiter& point, std::int64_t deadline,
                                       const std::stop_token& token) noexcept;

  /// The user's lock is unlocked in this scope. If that throws, the waiter leaves the list.
  template <class Lock>
  class unlocked {
   public:
    unlocked(Lock& lock, waiter& point) : lock_(lock) {
      THRUM_TRY { lock_.unlock(); }
      THRUM_CATCH_ALL {
        {
          const sched::section here;
          auto& list = *static_cast<sync_detail::wait_list*>(point.object);
          const sched::scoped guard(list.lock);
          list.unlink(point);
        }
        THRUM_RETHROW;
      }
    }
    ~unlocked() { lock_.lock(); }
    unlocked(const unlocked&) = delete;
    unlocked& operator=(const unlocked&) = delete;

   private:
    Lock& lock_;
  };

  template <class Lock, class Predicate>
  bool wait_done(Lock& lock, std::int64_t deadline, Predicate& done) {
    while (!done()) {
      if (wait_until_ns(lock, deadline) == std::cv_status::timeout) {
        return done();
      }
    }
    return true;
  }

  /// `wait(token)` waits once.
  template <class Predicate, class Wait>
  bool wait_stoppable(std::stop_token token, Predicate& done, Wait wait) {
    const std::shared_ptr<inside> shared = inside_;
    const std::stop_callback at_request(token, [&]() noexcept { shared->notify(inside::all); });
    while (!done()) {
      if (token.stop_requested()) {
        return false;
      }
      if (wait(token) == std::cv_status::timeout) {
        return done();
      }
    }
    return true;
  }

  std::shared_ptr<inside> inside_;
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/sync/destroyed_waiters.hpp>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE condition_variable_any::condition_variable_any()
    : inside_(std::make_shared<inside>()) {}

THRUM_OUT_OF_LINE void condition_variable_any::inside::notify(std::size_t n) noexcept {
  const sched::section here;
  sched::wake_list released;
  lock.lock();
  for (; n != 0; --n) {
    auto* const first = static_cast<waiter*>(waiters.pop(sched::wake_cause::notified));
    if (first == nullptr) {
      break;
    }
    if (first->is_parked) {
      released.push_back(first);
    }
  }
  lock.unlock();
  released.wake_all();
}

THRUM_OUT_OF_LINE void condition_variable_any::inside::end_waits() noexcept {
  {
    const sched::section here;
    const sched::scoped guard(lock);
    if (waiters.empty()) {
      return;
    }
  }
  sync_detail::end_waits("condition_variable_any: it", lock, waiters.points);
}

THRUM_OUT_OF_LINE sched::wake_cause condition_variable_any::wait_linked(
    inside& shared, waiter& point, std::int64_t deadline, const std::stop_token& token) noexcept {
  sched::section here;
  shared.lock.lock();
  if (point.linked && token.stop_requested()) {
    shared.waiters.points.remove(point);
  }
  if (!point.linked) {
    shared.lock.unlock();
    return sched::wake_cause::notified;
  }
  point.g = here.g();
  point.is_parked = true;
  return sched::wait(here, static_cast<sched::wait_point&>(point), shared.lock,
                     {sched::wait_reason::cond_wait, true, deadline});
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
