// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The two locks inside the scheduler.
//
// `spin_lock` guards sections of a few dozen instructions: a channel, a wait list, the global
// queue, a timer heap. Taking it is one exchange, dropping it a plain store; that asymmetry is
// why it is not a futex lock, whose release must be a second locked instruction. It may be
// dropped on another stack than the one it was taken on: a parking goroutine keeps its object
// locked until its stack is left, and the side that the thread arrives at unlocks.
// A waiter does not look at the lock while it pauses, and pauses for longer than the lock is held:
// each look would take the cache line away from the holder, and two processors that take turns at
// every section move the line, and all that it guards, with each. Left alone, the holder gets
// through dozens of sections. (Two processors, four producers and four consumers on a buffered
// channel: 79 ns an item when the waiter looks after each pause, 17 ns so.) When the holder's
// thread is off its CPU, a waiter yields, then sleeps. Unlock wakes a sleeper if it saw one before
// it dropped the lock; one that it did not see wakes by itself after 200 us, and that is what the
// plain store costs. (With sixty threads on two CPUs that yield instead of sleeping, the holder
// hardly gets a CPU to drop the lock on.)
//
// `blocking_lock` guards what is taken rarely and may be held over a system call: the idle lists,
// the registry of schedulers, shutdown.
//
// Each has a rank: lock_rank.hpp has the order in which they are taken.
#ifndef THRUM_DETAIL_SCHED_QUEUE_LOCK_HPP
#define THRUM_DETAIL_SCHED_QUEUE_LOCK_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/queue/lock_rank.hpp>
#include <thrum/detail/sched/queue/scoped.hpp>  // IWYU pragma: export

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

#if THRUM_CHECKS
/// Says whether the calling thread may take a lock (SC1 in section.hpp); set by the first M.
inline constinit base::set_once<bool (*)() noexcept> may_lock{nullptr};
inline void check_lock() noexcept {
  const auto ask = may_lock.get();
  THRUM_ASSERT(SC1, ask == nullptr || ask());
}
#else
THRUM_INLINE void check_lock() noexcept {}
#endif

/// One turn of a loop that waits for another thread to get through a few instructions. Sleeps at
/// last: in a real-time class a thread that only yields keeps the CPU from all of a lower
/// priority, and the one that is waited for may be among them.
inline void back_off(std::uint32_t turn) noexcept {
  constexpr std::uint32_t spins = 127;  // between two yields
  constexpr std::uint32_t patience = 4096;
  constexpr std::int64_t nap_ns = 50'000;
  if (turn % (spins + 1) != spins) {
    arch::spin_hint();
  } else if (turn < patience) {
    os::yield_thread();
  } else {
    os::sleep_ns(nap_ns);
  }
}

class spin_lock : private ranked {
 public:
  constexpr explicit spin_lock(lock_rank rank) noexcept : ranked(rank) {}
  spin_lock(const spin_lock&) = delete;
  spin_lock& operator=(const spin_lock&) = delete;

  THRUM_INLINE void lock() noexcept {
    check_lock();
    note_lock(this);
    // [lock.spin <] acquire: sees what the last holder did; pairs with the store in unlock.
    if (locked_.exchange(1, acquire) != 0) [[unlikely]] {
      lock_slow();
    }
  }

  THRUM_INLINE bool try_lock() noexcept {
    // [lock.spin <] acquire: as in lock.
    if (locked_.exchange(1, acquire) != 0) {
      return false;
    }
    note_try_lock(this);
    return true;
  }

  THRUM_INLINE void unlock() noexcept {
    if (drop()) [[unlikely]] {
      wake_sleeper();
    }
  }

  /// unlock() in two steps, for a caller whose calls are its last: true if wake_sleeper() is to follow.
  [[nodiscard]] THRUM_INLINE bool drop() noexcept {
    note_unlock(this);
    // relaxed: a hint to wake them. Read before the lock is dropped: afterwards the lock may be
    // gone.
    const std::uint32_t sleepers = sleepers_.load(relaxed);
    // [lock.spin >] release: publishes the section to the next holder's exchange.
    locked_.store(0, release);
    return sleepers != 0;
  }
  /// The lock may be gone: only its address is used.
  void wake_sleeper() noexcept { os::futex_wake(locked_, 1); }

  /// Frees the lock in a child process, where the threads that might hold it do not exist.
  void abandon() noexcept {
    locked_.store(0, relaxed);    // relaxed: there is only this thread
    sleepers_.store(0, relaxed);  // relaxed: there is only this thread
  }

  /// Whether a thread holds it; a hint, unless the caller does.
  bool is_locked() const noexcept {
    return locked_.load(relaxed) != 0;  // relaxed: only the holder can rely on the answer
  }

 private:
  THRUM_COLD void lock_slow() noexcept {
    for (std::uint32_t round = 0;; ++round) {
      if (round < active_rounds) {
        for (std::uint32_t i = 0; i < first_pauses << round; ++i) {
          arch::spin_hint();
        }
      } else if (round < active_rounds + yield_rounds) {
        os::yield_thread();
      } else {
        sleepers_.fetch_add(1, relaxed);  // relaxed: a hint to unlock
        os::futex_wait(locked_, 1, sleep_ns);
        sleepers_.fetch_sub(1, relaxed);  // relaxed: a hint to unlock
      }
      // [lock.spin <] acquire: as in lock. The load first keeps the line shared while we wait.
      if (!is_locked() && locked_.exchange(1, acquire) == 0) {
        return;
      }
    }
  }

  // Pauses of 1 us to 8 us: some dozens of sections, see above. After that the holder is probably off
  // its CPU, and only giving up ours can help it.
  static constexpr std::uint32_t active_rounds = 4;
  static constexpr std::uint32_t first_pauses = 100;
  static constexpr std::uint32_t yield_rounds = 4;
  static constexpr std::int64_t sleep_ns = 200'000;

  std::atomic<std::uint32_t> locked_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

class blocking_lock : private ranked {
 public:
  constexpr explicit blocking_lock(lock_rank rank) noexcept : ranked(rank) {}
  blocking_lock(const blocking_lock&) = delete;
  blocking_lock& operator=(const blocking_lock&) = delete;

  void lock() noexcept {
    check_lock();
    note_lock(this);
    std::uint32_t expected = free;
    // [lock.futex <] acquire: sees what the last holder did; pairs with the exchange in unlock.
    // relaxed: without the lock nothing is read
    if (!word_.compare_exchange_strong(expected, held, acquire, relaxed)) [[unlikely]] {
      lock_slow();
    }
  }

  void unlock() noexcept {
    note_unlock(this);
    // [lock.futex >] release: publishes the section to the next holder.
    if (word_.exchange(free, release) == contended) [[unlikely]] {
      os::futex_wake(word_, 1);
    }
  }

  /// Frees the lock in a child process, where the threads that might hold it do not exist.
  void abandon() noexcept {
    word_.store(free, relaxed);  // relaxed: there is only this thread
  }

 private:
  THRUM_COLD void lock_slow() noexcept {
    for (int i = 0; i < 100; ++i) {
      std::uint32_t expected = free;
      if (word_.load(relaxed) == free &&
          // [lock.futex <] acquire: as in lock; relaxed: without the lock nothing is read
          word_.compare_exchange_strong(expected, held, acquire, relaxed)) {
        return;
      }
      arch::spin_hint();
    }
    // [lock.futex <] acquire: as in lock. `contended` stays set until no thread waits any more.
    while (word_.exchange(contended, acquire) != free) {
      os::futex_wait(word_, contended, -1);
    }
  }

  static constexpr std::uint32_t free = 0;       // no thread holds it
  static constexpr std::uint32_t held = 1;       // held, no thread sleeps
  static constexpr std::uint32_t contended = 2;  // held, and a thread may sleep on the word

  std::atomic<std::uint32_t> word_{free};
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
