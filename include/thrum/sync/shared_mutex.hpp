// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// shared_mutex: one writer, or any number of readers.
//
// State: one word.
//   bit 0  written   a writer holds it
//   bit 1  queued    somebody waits: all others go through the lists, under lock_
//   rest   number of readers that hold it
//
// Invariants
//   SX1  the lists change only under lock_; `queued` is set exactly while one of them is not empty,
//        whenever nobody holds lock_.
//   SX2  while `queued` is set, the word loses readers, but not the last one, by unlock_shared, and
//        changes otherwise only under lock_.
//   SX3  ownership is handed over: a waiter that is taken from a list holds the mutex from then on.
//   SX4  whenever nobody holds lock_: if readers wait, a writer holds the mutex or waits; if
//        anybody waits, somebody holds it.
//   SX5  an unlock touches nothing of the mutex once another can get in, which may destroy it: the
//        last one hands over to those that wait, or leaves without lock_.
//
// Policy (Go's): readers queue up behind a writer that waits, so writers do not starve; a writer
// that leaves lets in all readers that are waiting, before the next writer, so readers do not
// either.
//
// Uncontended, each operation is one locked instruction.
//
// Source: the policy is that of Go, src/sync/rwmutex.go; hand-over instead of its two semaphores.
// Checked by shared_mutex_test.cpp and shared_mutex_model.cpp.
#ifndef THRUM_SYNC_SHARED_MUTEX_HPP
#define THRUM_SYNC_SHARED_MUTEX_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/deadline.hpp>
#include <thrum/stop_condition.hpp>
#include <thrum/sync/destroyed_waiters.hpp>
#include <thrum/sync/wait_list.hpp>

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

  /// Blocks until nobody else holds the mutex.
  void lock() {
    if (!try_lock()) [[unlikely]] {
      wait_to_write(sched::no_deadline);
    }
  }

  /// Takes the mutex if nobody holds it. Does not block.
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
  template <stop_condition Stop>
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
    std::uint64_t word = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    while ((word & (written | queued)) == 0) {
      // [sx.word <] acquire: the section of the writer before.
      if (word_.compare_exchange_weak(word, word + reader, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {  // relaxed: looks at it again
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
  template <stop_condition Stop>
  [[nodiscard]] bool lock_shared(const Stop& stop) {
    return try_lock_shared() || stop_detail::until_stopped(stop, [this](std::int64_t deadline) {
             return wait_to_read(deadline);
           });
  }

  /// Releases a share; the next owner may destroy the mutex at once. usage_error if no reader has
  /// one.
  void unlock_shared() {
    std::uint64_t word = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    for (;;) {
      if (word < reader) [[unlikely]] {
        base::throw_usage("shared_mutex::unlock_shared: no reader holds the mutex");
      }
      if (word < 2 * reader && (word & queued) != 0) [[unlikely]] {  // SX2: the last one
        if (leave(reader, false)) {
          return;
        }
        word = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
        // [sx.word >] release: our section, to the next writer.
      } else if (word_.compare_exchange_weak(word, word - reader, std::memory_order_release,
                                             // relaxed: looks at it again
                                             std::memory_order_relaxed)) {
        return;
      }
    }
  }

 private:
  static constexpr std::uint64_t written = 1;
  static constexpr std::uint64_t queued = 2;
  static constexpr std::uint64_t reader = 4;

  bool nobody_waits() const noexcept { return readers_.empty() && writers_.empty(); }

  /// Sets `queued`, or takes the mutex if it became free and nobody waits. Caller holds lock_; if
  /// this returns true, the mutex is the caller's.
  bool take_or_announce(std::uint64_t unless, std::uint64_t taken) noexcept;

  [[gnu::cold]] bool wait_to_write(std::int64_t deadline);
  [[gnu::cold]] bool wait_to_read(std::int64_t deadline);

  bool wait(sync_detail::wait_list& list, const sched::wait_options& options, std::uint64_t unless,
            std::uint64_t taken);

  /// SX3 and SX4: takes from the lists those that may hold the mutex now. Caller holds lock_, and
  /// wakes them without it.
  void settle_locked(bool readers_first, sched::wake_list& released) noexcept;

  [[gnu::cold]] void unlock_slow(std::uint64_t word);

  /// Gives back our share of the word while somebody waits. False, with nothing done, if nobody
  /// does any more: then lock_, too, must be let go before the share (SX5).
  [[gnu::cold]] bool leave(std::uint64_t share, bool readers_first) noexcept;

  /// A writer that gives up may have kept readers waiting.
  static sched::withdrawal withdraw(sched::wait_point& point, bool locked) noexcept;

  std::atomic<std::uint64_t> word_{0};
  sched::spin_lock lock_{sched::lock_rank::waiters};
  sync_detail::wait_list readers_{lock_};
  sync_detail::wait_list writers_{lock_};
};

}}  // namespace thrum::THRUM_ABI

#if !THRUM_SEPARATE
#include <thrum/sync/shared_mutex_definition.hpp>
#endif

#endif
