// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The order in which locks are taken.
//
// Purpose
//   Two threads that each hold a lock and wait for the other's wait for ever. So every lock has a
//   rank, and a thread takes only one whose rank is above those of all that it holds. Then there is
//   no circle, whichever threads meet.
//
// The table, from the first to the last; beside each what is taken while it is held
//   registry     all schedulers of the process: timers, heaps, what a runtime is visited for
//   withdrawal   a runtime that stops: objects with waiters, idle, global, stacks
//   context      a node of a tree of contexts
//   channel      other channels, by address, in a select; global, heap
//   waiters      what goroutines wait on: a latch, a semaphore, ...: idle, global, heap
//   descriptor   a file or socket that goroutines wait for: global, heap
//   sleeper      a sleep: global, heap
//   ending       a goroutine that is joined: global, heap
//   timer        of after_func, while it is armed: heap, idle, global
//   idle         Ps and Ms without work: global, stacks, heap
//   inbox        the goroutines of a host
//   global       the global queue
//   descriptors  the free descriptors of the poller's table
//   stacks       the stacks of a runtime
//   forks        what goroutines have forked that began to on one P
//   heap         timers of a P: another heap, by address, when a P is given up
//   trace        the recorder's chunk of threads that are no Ms
// A goroutine that parks looks for its successor, and arms its timer, while it holds its object:
// hence global and heap behind every object. Idle is behind them because an object may make its
// waiters runnable before it is dropped.
//
// Invariants
//   LR1  a thread takes a lock only if all that it holds rank below it; of those that are taken by
//        address, one of the same rank may be held that lies below.
//   LR2  a lock is dropped by the thread that has taken it. A goroutine that parks keeps the locks
//        of its objects until its stack is left; the code that its thread arrives at drops them.
//   LR3  when that code has dropped them, no lock is held.
//
// With THRUM_CHECKS each thread keeps a list of the locks that it holds, and taking one against LR1
// ends the program with the names of both, whether or not another thread was about to meet it.
// Without it a rank is an argument that is not stored. A try_lock cannot wait, so it may be called
// in any order; what it has taken counts for what follows.
//
// Shared objects that hide the library have lists of their own; a lock is taken and dropped by code
// of one object.
//
// A mutex of goroutines (sync/mutex.hpp) is not in the table: its owner may park, so it is taken
// while none of these is held.
#ifndef THRUM_DETAIL_SCHED_QUEUE_LOCK_RANK_HPP
#define THRUM_DETAIL_SCHED_QUEUE_LOCK_RANK_HPP

#include <thrum/detail/base/config.hpp>

#include <cstdint>

#if THRUM_CHECKS
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/os/parts.hpp>

#include <cstddef>
#include <string_view>
#endif

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The order of the locks; each has its line in lock_ranks.
enum class lock_rank : std::uint8_t {
  registry,
  withdrawal,
  context,
  channel,
  waiters,
  descriptor,
  sleeper,
  ending,
  timer,
  idle,
  inbox,
  global,
  yielded,
  descriptors,
  stacks,
  forks,
  heap,
  trace,
};

#if THRUM_CHECKS

struct lock_rank_row {
  lock_rank rank;
  std::string_view name;
  /// Several may be held at a time, taken in the order of their addresses.
  bool by_address = false;
};

inline constexpr lock_rank_row lock_ranks[] = {
    {lock_rank::registry, "the lock of the registry"},
    {lock_rank::withdrawal, "the lock of a stopping runtime"},
    {lock_rank::context, "the lock of a context"},
    {lock_rank::channel, "the lock of a channel", true},
    {lock_rank::waiters, "the lock of an object with waiters"},
    {lock_rank::descriptor, "the lock of a descriptor"},
    {lock_rank::sleeper, "the lock of a sleeper"},
    {lock_rank::ending, "the lock of a joined goroutine"},
    {lock_rank::timer, "the lock of a timer"},
    {lock_rank::idle, "the lock of the idle lists"},
    {lock_rank::inbox, "the lock of the goroutines of a host"},
    {lock_rank::global, "the lock of the global queue"},
    {lock_rank::yielded, "the lock of the goroutines that yielded on a processor"},
    {lock_rank::descriptors, "the lock of the table of descriptors"},
    {lock_rank::stacks, "the lock of the stacks"},
    {lock_rank::forks, "the lock of a list of forks"},
    {lock_rank::heap, "the lock of a timer heap", true},
    {lock_rank::trace, "the lock of the recorder"},
};

constexpr const lock_rank_row& row_of(lock_rank rank) noexcept {
  return lock_ranks[static_cast<std::size_t>(rank)];
}

static_assert(
    [] {
      std::size_t at = 0;
      for (const lock_rank_row& row : lock_ranks) {
        if (static_cast<std::size_t>(row.rank) != at++) {
          return false;
        }
      }
      return row_of(lock_rank::trace).rank == lock_rank::trace;
    }(),
    "lock_ranks has one row for each rank, in their order");

/// The locks that a thread holds. Also right for a signal handler that takes and drops some in the
/// middle of a change.
class held_locks {
 public:
  /// Before a lock is waited for.
  void take(const void* lock, lock_rank rank) noexcept {
    for (std::size_t i = 0; i != size_; ++i) {
      const entry held{entries_[i].lock, entries_[i].rank};
      const bool in_order =
          held.rank < rank || (held.rank == rank && row_of(rank).by_address && held.lock < lock);
      if (held.lock != nullptr && !in_order) {
        refuse(held.lock, held.rank, lock, rank);
      }
    }
    add(lock, rank);
  }

  /// After a lock was taken without waiting.
  void add(const void* lock, lock_rank rank) noexcept {
    const std::size_t at = size_;
    if (at == most) {
      ++beyond_;
      return;
    }
    size_ = at + 1;  // first, so that a handler keeps off the entry
    entries_[at].rank = rank;
    entries_[at].lock = lock;
  }

  /// Before a lock is dropped.
  __attribute__((no_sanitize("null"))) void drop(const void* lock, lock_rank rank) noexcept {
    for (std::size_t i = size_; i != 0; --i) {
      if (entries_[i - 1].lock == lock) {
        entries_[i - 1].lock = nullptr;
        while (size_ != 0 && entries_[size_ - 1].lock == nullptr) {
          size_ = size_ - 1;
        }
        return;
      }
    }
    if (beyond_ == 0) {  // LR2
      refuse(lock, rank);
    }
    --beyond_;
  }

  std::size_t count() const noexcept {
    std::size_t n = beyond_;
    for (std::size_t i = 0; i != size_; ++i) {
      n += entries_[i].lock != nullptr;
    }
    return n;
  }

 private:
  [[noreturn]] THRUM_COLD static void refuse(const void* held, lock_rank held_rank,
                                             const void* lock, lock_rank rank) noexcept {
    base::message<512> text("lock order: ");
    append(text, rank, lock);
    if (held == lock) {
      text.append(" is taken by the thread that holds it; release it first (LR1 in ");
    } else {
      text.append(" is taken by a thread that holds ");
      append(text, held_rank, held);
      text.append("; take them the other way round, or release the second one first (LR1 in ");
    }
    text.append("sched/queue/lock_rank.hpp)");
    base::fatal(text.view());
  }
  [[noreturn]] THRUM_COLD static void refuse(const void* lock, lock_rank rank) noexcept {
    base::message<512> text("lock order: ");
    append(text, rank, lock);
    text.append(
        " is released by a thread that does not hold it; only its holder may (LR2 in "
        "sched/queue/lock_rank.hpp)");
    base::fatal(text.view());
  }

  static void append(base::message<512>& text, lock_rank rank, const void* lock) noexcept {
    text.append(row_of(rank).name)
        .append(" (rank ")
        .append(static_cast<unsigned>(rank))
        .append(", at ")
        .append(lock)
        .append(")");
  }

  /// More are counted, not looked at: a select over many channels.
  static constexpr std::size_t most = 24;

  struct entry {
    const void* volatile lock = nullptr;
    lock_rank rank = lock_rank::registry;
  };
  entry entries_[most];
  volatile std::size_t size_ = 0;
  std::size_t beyond_ = 0;
};

/// The locks of the calling thread. Its address is good for no longer than one of these calls,
/// which are not inlined: a goroutine moves. It is laid out before the thread runs, so that a
/// handler may be the first to use it.
inline constinit THRUM_THREAD_LOCAL os::thread_object<held_locks> locks_of_thread
    THRUM_FIXED_THREAD_LOCAL;

THRUM_NOINLINE inline void note_lock(const void* lock, lock_rank rank) noexcept {
  asm volatile("");
  os::of_this_thread(locks_of_thread).take(lock, rank);
}
THRUM_NOINLINE inline void note_try_lock(const void* lock, lock_rank rank) noexcept {
  asm volatile("");
  os::of_this_thread(locks_of_thread).add(lock, rank);
}
// UBSan of gcc 12 takes the thread_local for null in here.
THRUM_NOINLINE __attribute__((no_sanitize("null"))) inline void note_unlock(
    const void* lock, lock_rank rank) noexcept {
  asm volatile("");
  os::of_this_thread(locks_of_thread).drop(lock, rank);
}
/// For assertions: LR3.
THRUM_NOINLINE inline std::size_t count_held_locks() noexcept {
  asm volatile("");
  return os::of_this_thread(locks_of_thread).count();
}

/// The rank as a lock stores it; nothing without THRUM_CHECKS.
class ranked {
 public:
  constexpr explicit ranked(lock_rank rank) noexcept : rank_(rank) {}
  void note_lock(const void* lock) const noexcept { sched::note_lock(lock, rank_); }
  void note_try_lock(const void* lock) const noexcept { sched::note_try_lock(lock, rank_); }
  void note_unlock(const void* lock) const noexcept { sched::note_unlock(lock, rank_); }

 private:
  const lock_rank rank_;
};

#else

inline std::size_t count_held_locks() noexcept { return 0; }

class ranked {
 public:
  constexpr explicit ranked(lock_rank) noexcept {}
  THRUM_INLINE void note_lock(const void*) const noexcept {}
  THRUM_INLINE void note_try_lock(const void*) const noexcept {}
  THRUM_INLINE void note_unlock(const void*) const noexcept {}
};

#endif

}}}  // namespace thrum::THRUM_ABI::sched

#endif
