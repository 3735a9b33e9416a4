// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// mutex: mutual exclusion that parks the goroutine, in eight bytes.
//
// State: one word.
//   bit 0  locked    somebody holds the mutex
//   bit 1  queue     somebody holds the list of waiters; see `queue_word`
//   bit 2  starving  a waiter has waited for more than 1 ms: ownership is handed over
//   bit 3  woken     a waiter is awake and will try to lock: unlock need not wake another
//   rest   the first waiter; its `last` is the last one, `next` leads from each to the next, and
//          `prev` back from each but the first: so a waiter whose time is over leaves in a few
//          steps
//
// Invariants
//   MU1  the list and its links change only under the queue bit, and so does `linked`, which says
//        whether a waiter is in the list.
//   MU2  when the queue bit is dropped: the mutex is locked, or nobody waits, or a waiter is awake.
//        So an unlock that finds the bit taken may leave the waking to its holder.
//   MU3  in starving mode unlock never clears `locked` while somebody waits.
//   MU4  unlock does not touch the word after the exchange that lets another in: the next owner may
//        destroy the mutex.
//
// Modes (Go's): normally a waiter that is woken competes with newcomers, which are on a processor
// already and mostly win; that is fast. A waiter that has lost for 1 ms makes the mutex starving:
// from then on each unlock passes it to the first waiter, and newcomers queue up, until a waiter
// gets it that waited for less, or the last one.
//
// Uncontended, lock and unlock cost one locked instruction each: `lock bts` and `lock cmpxchg`.
//
// Tried and rejected: `lock xadd` in unlock as in Go, which is 2 % faster, but has let others in
// when it finds out that it has to wake somebody (MU4); a table of queues by address as in Go,
// which is a lock and a cache miss more for each waiter.
//
// Fences of [mu.word]: lock_slow.
//
// Sources: Go, src/internal/sync/mutex.go. Checked by mutex_test.cpp and mutex_model.cpp.
#ifndef THRUM_SYNC_MUTEX_HPP
#define THRUM_SYNC_MUTEX_HPP

#include <thrum/base/config.hpp>
#include <thrum/deadline.hpp>
#include <thrum/stop_condition.hpp>
#include <thrum/sync/mutex_queue.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

/// As std::timed_mutex, for goroutines and foreign threads alike. Not recursive; any goroutine may
/// unlock what another has locked. Waiting for it is not a cancellation point.
class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex() {
    // relaxed: only waiters, by mistake, may use it now
    if (queue_word::head(queue_.word.load(std::memory_order_relaxed)) != nullptr) [[unlikely]] {
      end_waits();
    }
  }

  /// Blocks until the mutex is the caller's.
  void lock() {
    // [mu.word <] acquire: the last owner's section; pairs with unlock.
    if ((queue_.word.fetch_or(queue_word::locked, std::memory_order_acquire) &
         queue_word::locked) != 0) [[unlikely]] {
      lock_slow(sched::no_deadline);
    }
  }

  /// Takes the mutex if it is free. Does not block.
  [[nodiscard]] bool try_lock() noexcept {
    // [mu.word <] acquire: as in lock.
    return (queue_.word.fetch_or(queue_word::locked, std::memory_order_acquire) &
            queue_word::locked) == 0;
  }

  /// Blocks for at most a time; whether the mutex is the caller's.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock() || lock_slow(time_detail::deadline_after(time));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> when) {
    return try_lock() || time_detail::retry_until(
                             when, [this](std::int64_t deadline) { return lock_slow(deadline); });
  }

  /// Blocks until the mutex is the caller's, or a stop is requested; whether it is the caller's.
  template <stop_condition Stop>
  [[nodiscard]] bool lock(const Stop& stop) {
    return try_lock() || stop_detail::until_stopped(
                             stop, [this](std::int64_t deadline) { return lock_slow(deadline); });
  }

  /// Releases it; the next owner may destroy it at once. usage_error if nobody holds it.
  void unlock() {
    std::uintptr_t alone = queue_word::locked;
    // [mu.word >] release: our section, to the next owner; relaxed: unlock_slow's exchanges decide
    if (!queue_.word.compare_exchange_strong(alone, 0, std::memory_order_release,
                                             std::memory_order_relaxed)) [[unlikely]] {
      unlock_slow(alone);
    }
  }

 private:
  using queue_word = sync_detail::queue_word;

  /// It is destroyed, though there are waiters.
  [[gnu::cold]] void end_waits() noexcept;

  [[gnu::cold]] bool lock_slow(std::int64_t deadline);
  [[gnu::cold]] void unlock_slow(std::uintptr_t word);

  sync_detail::queue_word queue_;
};

static_assert(sizeof(mutex) == sizeof(void*));

}}  // namespace thrum::THRUM_ABI

#if !THRUM_SEPARATE
#include <thrum/sync/mutex_definition.hpp>
#endif

#endif
