// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// shared_mutex: one writer, or any number of readers.
//
// State: one word.
//   bit 0  written    a writer holds it
//   bit 1  queued     there are waiters: all others go through the lists, under lock_
//   bit 2  overtaken  a reader waits for the second time: the next that are let in are handed shares
//   rest   number of readers that hold it
//
// Invariants
//   SX1  the lists change only under lock_; whenever lock_ is free, `queued` is set exactly while one
//        of them is not empty.
//   SX2  while `queued` is set, the word loses readers, but not the last one, by unlock_shared, and
//        changes otherwise only under lock_.
//   SX3  a waiter that is taken from a list holds the mutex from then on, or is a reader that is
//        invited: it tries again, once. If it fails, it waits as one that was overtaken.
//   SX4  whenever lock_ is free: if readers wait, a writer holds the mutex or waits; if there is a
//        waiter, a reader or a writer holds the mutex.
//   SX5  an unlock touches nothing of the mutex once another can get in, which may destroy it: the
//        last one hands over to those that wait, or leaves without lock_. An invited reader still uses
//        the mutex: no owner may destroy it before that reader has had its share or has given up.
//   SX6  readers are invited only while no writer waits and `overtaken` is clear. A reader that begins
//        to wait for the second time sets it. It is cleared when all waiting readers get a share, and
//        with `queued`. So a second wait ends with a share, or by its deadline.
//
// Policy (Go's, but for the invitation): readers queue up behind a writer that waits, so writers do
// not starve. A writer that leaves lets in all readers that are waiting, before the next writer, so
// readers do not either. It hands each a share if a writer waits, or a reader was overtaken.
// Otherwise it leaves the mutex free and invites them, so writers overtake a reader at one wake-up only.
//
// Why invite: a share that a reader has got, but does not run yet to use, keeps writers out. If a
// hundred readers get theirs, the next writer waits until all of them have run. The readers that
// run meanwhile queue up behind that writer, and get theirs from it: a convoy that keeps itself going.
// 100 goroutines on 2 P, each hundredth lock a writer's: 22,000 waits of readers in 200,000 locks
// when each was handed its share, 900 by invitations, Go 60.
//
// Uncontended, each operation is one locked instruction.
//
// Source: the policy is that of Go, src/sync/rwmutex.go; lists instead of its two semaphores.
// Checked by shared_mutex_test.cpp and shared_mutex_model.cpp.
#ifndef THRUM_SYNC_SHARED_MUTEX_HPP
#define THRUM_SYNC_SHARED_MUTEX_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/sync/destroyed_waiters.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/stop_condition.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

/// As std::shared_timed_mutex, for goroutines and foreign threads alike. Any of them may unlock
/// what another has locked. Not recursive, not even for readers: a writer may wait in between.
/// Waiting for it is not a cancellation point.
class shared_mutex {
 public:
  constexpr shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;
  ~shared_mutex() {
    if (!nobody_waits()) [[unlikely]] {
      sync_detail::end_waits("shared_mutex: it", lock_, readers_.points, writers_.points);
    }
  }

  // ---- writers ----

  /// Blocks until no reader and no other writer holds the mutex, and takes it.
  void lock() {
    if (!try_lock()) [[unlikely]] {
      wait_to_write(sched::no_deadline);
    }
  }

  /// Takes the mutex if no reader and no writer holds it. Does not block.
  [[nodiscard]] bool try_lock() noexcept {
    std::uint64_t free = 0;
    // [sx.word <] acquire: the sections of those that held it before; relaxed: it is not ours
    return word_.compare_exchange_strong(free, written, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  /// Blocks for at most a time; whether the mutex is the caller's.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock() || wait_to_write(time_detail::deadline_after(time));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> when) {
    return try_lock() || time_detail::retry_until(when, [this](std::int64_t deadline) {
             return wait_to_write(deadline);
           });
  }

  /// Blocks until the mutex is the caller's, or a stop is requested; whether it is the caller's.
  template <until_condition Stop>
  [[nodiscard]] bool lock(const Stop& stop) {
    return try_lock() || stop_detail::until_stopped(stop, [this](std::int64_t deadline) {
             return wait_to_write(deadline);
           });
  }

  /// Releases it; the next owner may destroy it at once. usage_error if no writer holds it.
  void unlock() {
    std::uint64_t held = written;
    // [sx.word >] release: our section, to the next one; relaxed: unlock_slow's exchanges decide
    if (!word_.compare_exchange_strong(held, 0, std::memory_order_release,
                                       std::memory_order_relaxed)) [[unlikely]] {
      unlock_slow(held);
    }
  }

  // ---- readers ----

  /// Blocks until no writer holds the mutex or waits for it.
  void lock_shared() {
    if (!try_lock_shared()) [[unlikely]] {
      wait_to_read(sched::no_deadline);
    }
  }

  /// Takes a share if no writer holds the mutex or waits for it. Does not block.
  [[nodiscard]] bool try_lock_shared() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & (written | queued)) == 0) {
      // [sx.word <] acquire: the section of the writer before.
      if (word_.compare_exchange_weak(word, word + reader, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {  //
        return true;
      }
    }
    return false;
  }

  /// Blocks for at most a time; whether the caller has a share.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_shared() || wait_to_read(time_detail::deadline_after(time));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> when) {
    return try_lock_shared() || time_detail::retry_until(when, [this](std::int64_t deadline) {
             return wait_to_read(deadline);
           });
  }

  /// Blocks until the caller has a share, or a stop is requested; whether it has one.
  template <until_condition Stop>
  [[nodiscard]] bool lock_shared(const Stop& stop) {
    return try_lock_shared() || stop_detail::until_stopped(stop, [this](std::int64_t deadline) {
             return wait_to_read(deadline);
           });
  }

  /// Releases a share; the next owner may destroy the mutex at once. usage_error if no reader has
  /// one.
  void unlock_shared() {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (word < reader) [[unlikely]] {
        base::throw_usage("shared_mutex::unlock_shared: no reader holds the mutex");
      }
      if (word < 2 * reader && (word & queued) != 0) [[unlikely]] {  // SX2: the last one
        if (leave(reader, false)) {
          return;
        }
        word = word_.load(std::memory_order_relaxed);
        // [sx.word >] release: our section, to the next writer.
      } else if (word_.compare_exchange_weak(word, word - reader, std::memory_order_release,
                                             std::memory_order_relaxed)) {
        return;
      }
    }
  }

 private:
  static constexpr std::uint64_t written = 1;
  static constexpr std::uint64_t queued = 2;
  static constexpr std::uint64_t overtaken = 4;
  static constexpr std::uint64_t reader = 8;

  bool nobody_waits() const noexcept { return readers_.empty() && writers_.empty(); }

  /// Sets `announced`, or takes the mutex if it became free and there is no waiter. Caller holds lock_;
  /// if this returns true, the mutex is the caller's.
  bool take_or_announce(std::uint64_t unless, std::uint64_t taken,
                        std::uint64_t announced) noexcept;

  [[gnu::cold]] bool wait_to_write(std::int64_t deadline);
  [[gnu::cold]] bool wait_to_read(std::int64_t deadline);

  /// Joins a list, unless it can take the mutex. Returns `notified` if the caller has got what it waited
  /// for, and `retry` if it was invited, which a reader that announces `overtaken` never is (SX6).
  sched::wake_cause wait(sync_detail::wait_list& list, const sched::wait_options& options,
                         std::uint64_t unless, std::uint64_t taken, std::uint64_t announced);

  /// SX3 and SX4: takes from the lists those that may hold the mutex now, or may try again. Caller
  /// holds lock_, and wakes them without it.
  void settle_locked(bool readers_first, sched::wake_list& released) noexcept;

  [[gnu::cold]] void unlock_slow(std::uint64_t word);

  /// Gives back our share of the word while there are waiters. False, with nothing done, if there are none
  /// any more: then lock_, too, must be let go before the share (SX5).
  [[gnu::cold]] bool leave(std::uint64_t share, bool readers_first) noexcept;

  /// A writer that gives up may have kept readers waiting.
  static sched::withdrawal withdraw(sched::wait_point& point, bool locked) noexcept;

  std::atomic<std::uint64_t> word_{0};
  sched::spin_lock lock_{sched::lock_rank::waiters};
  sync_detail::wait_list readers_{lock_};
  sync_detail::wait_list writers_{lock_};
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE bool shared_mutex::take_or_announce(std::uint64_t unless, std::uint64_t taken,
                                                      std::uint64_t announced) noexcept {
  using namespace base::orders;
  std::uint64_t word = word_.load(relaxed);
  for (;;) {
    if (nobody_waits() && (word & unless) == 0) {
      // [sx.word <] acquire: the sections before
      if (word_.compare_exchange_weak(word, word + taken, acquire, relaxed)) {
        return true;
      }
      // relaxed: only announces us; each unlock afterwards comes to lock_
    } else if (word_.compare_exchange_weak(word, word | announced, relaxed, relaxed)) {
      return false;
    }
  }
}

THRUM_COLD THRUM_OUT_OF_LINE bool shared_mutex::wait_to_write(std::int64_t deadline) {
  return wait(writers_, {sched::wait_reason::shared_mutex_lock, false, deadline}, ~queued, written,
              queued) == sched::wake_cause::notified;
}

THRUM_COLD THRUM_OUT_OF_LINE bool shared_mutex::wait_to_read(std::int64_t deadline) {
  const sched::wait_options options{sched::wait_reason::shared_mutex_lock_shared, false, deadline};
  const sched::wake_cause cause = wait(readers_, options, written, reader, queued);
  if (cause != sched::wake_cause::retry) {
    return cause == sched::wake_cause::notified;
  }
  return try_lock_shared() || wait(readers_, options, written, reader, queued | overtaken) ==
                                  sched::wake_cause::notified;
}

THRUM_OUT_OF_LINE sched::wake_cause shared_mutex::wait(sync_detail::wait_list& list,
                                                       const sched::wait_options& options,
                                                       std::uint64_t unless, std::uint64_t taken,
                                                       std::uint64_t announced) {
  sched::section here;
  sched::wait_point point(here.g(), this, &withdraw);
  point.slot = &list;
  lock_.lock();
  if (take_or_announce(unless, taken, announced)) {
    lock_.unlock();
    return sched::wake_cause::notified;
  }
  list.points.push_back(point);
  return sched::wait(here, point, lock_, options);
}

THRUM_OUT_OF_LINE void shared_mutex::settle_locked(bool readers_first,
                                                   sched::wake_list& released) noexcept {
  using namespace base::orders;
  std::uint64_t word = word_.load(relaxed);
  std::uint64_t n = 0;  // readers that wait, once they are counted
  for (;;) {
    if (nobody_waits()) {
      // relaxed: no waiter is left to publish to
      if (word_.compare_exchange_weak(word, word & ~(queued | overtaken), relaxed, relaxed)) {
        return;
      }
      continue;
    }
    if ((word & written) != 0) {
      return;
    }
    if (writers_.empty() && (word & overtaken) == 0) {
      // relaxed: publishes nothing. This goes on with the release sequence of the writer's section.
      if (word_.compare_exchange_weak(word, word & ~queued, relaxed, relaxed)) {
        readers_.take_all(sched::wake_cause::retry, released);
        return;
      }
      continue;
    }
    if (!readers_.empty() && (readers_first || writers_.empty())) {
      for (auto* p = n == 0 ? readers_.points.front() : nullptr; p != nullptr;
           p = readers_.points.next(*p)) {
        ++n;  // they are all let in: a step for each
      }
      const std::uint64_t over = writers_.empty() ? queued | overtaken : overtaken;
      const std::uint64_t next = (word & ~over) + n * reader;
      // [sx.word <>] acq_rel: the writer's section, to the readers
      if (word_.compare_exchange_weak(word, next, acq_rel, relaxed)) {
        readers_.take_all(sched::wake_cause::notified, released);
        return;
      }
      continue;
    }
    if (word >= reader) {
      return;  // the last of them comes here
    }
    sched::wait_point* const first = writers_.points.front();
    const bool last = readers_.empty() && writers_.points.next(*first) == nullptr;
    const std::uint64_t next =
        last ? written : word | written;  // `queued`, and perhaps `overtaken`
    // [sx.word <>] acq_rel: the sections before, to the writer
    if (word_.compare_exchange_weak(word, next, acq_rel, relaxed)) {
      released.push_back(writers_.pop(sched::wake_cause::notified));
      return;
    }
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void shared_mutex::unlock_slow(std::uint64_t word) {
  using namespace base::orders;
  while ((word & written) != 0) {
    if (leave(written, true)) {
      return;
    }
    word = written;
    // [sx.word >] release: as in unlock; relaxed: looks at it again
    if (word_.compare_exchange_strong(word, 0, release, relaxed)) {
      return;
    }
  }
  base::throw_usage("shared_mutex::unlock: no writer holds the mutex");
}

THRUM_COLD THRUM_OUT_OF_LINE bool shared_mutex::leave(std::uint64_t share,
                                                      bool readers_first) noexcept {
  const sched::section here;
  lock_.lock();
  if (nobody_waits()) {
    lock_.unlock();
    return false;
  }
  // [sx.word >] release: our section, to those that are let in.
  [[maybe_unused]] const std::uint64_t word = word_.fetch_sub(share, std::memory_order_release);
  THRUM_ASSERT(SX1, (word & queued) != 0);
  sched::wake_list released;
  settle_locked(readers_first, released);
  lock_.unlock();
  released.wake_all();
  return true;
}

THRUM_OUT_OF_LINE sched::withdrawal shared_mutex::withdraw(sched::wait_point& point,
                                                           bool locked) noexcept {
  auto& self = *static_cast<shared_mutex*>(point.object);
  sched::wake_list released;
  const auto outcome = sched::unlink_under(self.lock_, locked, [&]() noexcept {
    const bool linked = static_cast<sync_detail::wait_list*>(point.slot)->unlink(point);
    if (linked) {
      self.settle_locked(false, released);
    }
    return linked;
  });
  released.wake_all();
  return outcome;
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
