// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleeping on a word where the system has no call for that, or none that may be used: a table of
// those that sleep. What futex_wait and futex_wake promise is in note.hpp.
//
// State
//   A thread that sleeps has a sleeper on its stack, with the address and a thread_event, the
//   system's; it stands in the list of the address's bucket, the longest there first. A bucket's lock
//   is held for a few instructions, and never while a thread sleeps.
//
// The race: the waiter compares the word under the lock. The waker has changed it before, and looks
// for sleepers under the lock. If the waiter has the lock first, the waker finds it; else the waiter
// finds the word changed.
//
// WT1  while a bucket is locked its thread is uninterrupted: neither a signal nor another thread
//      stops it there. A handler may wake a note, and would wait for ever for what it has interrupted.
// WT2  an event is posted under the lock, and its thread takes the lock once more before it is laid
//      aside or destroyed.
// WT3  a waker in one shared object finds the threads that sleep by another: the table is
//      process-wide.
//
// Why the event is a semaphore or an object of the kernel: posting a semaphore is all that POSIX lets
// a handler do to wake a thread. A condition variable takes a mutex, which the interrupted thread may
// hold at that moment; and a thread that blocked signals for as long as it sleeps would keep those of
// the process waiting, if all threads did so. Windows' WaitOnAddress keeps its sleepers in a table of
// the system's library: no thread can take its locks from one that was stopped inside.
#ifndef THRUM_DETAIL_OS_WAIT_TABLE_HPP
#define THRUM_DETAIL_OS_WAIT_TABLE_HPP

#include <thrum/detail/base/config.hpp>

#if !THRUM_HAS_FUTEX

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Empties the table in a child process, which has none of the threads that sleep.
void forget_sleepers() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#if !THRUM_HAS_FUTEX

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/clock.hpp>
#include <thrum/detail/os/memory_parts.hpp>
#include <thrum/detail/os/note.hpp>
#include <thrum/detail/os/thread_event.hpp>  // IWYU pragma: export

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// A thread that sleeps on an address.
struct sleeper {
  const void* address;
  sleeper* next = nullptr;
  bool is_listed = true;
  thread_event woken{};
};

struct wait_bucket {
  std::atomic<bool> locked{false};
  sleeper* first = nullptr;
  thread_event::spares spares;
};

struct wait_table {
  static constexpr std::string_view process_name = "os::wait_table";
  static constexpr std::size_t size = 64;
  wait_bucket buckets[size];

  /// WT3
  static wait_bucket& bucket_of(const void* address) noexcept {
    const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(address) * 0x9e37'79b9'7f4a'7c15;
    return process_wide<wait_table>::get().buckets[mixed >> 58];
  }
};
static_assert(wait_table::size == std::size_t{1} << (64 - 58));

/// A bucket, locked to the end of a block (WT1).
class locked_bucket {
 public:
  explicit locked_bucket(wait_bucket& bucket) noexcept : bucket_(bucket) {
    constexpr unsigned patience = 64;
    // [wt.lock <] acquire: the list, and what was done before a wake
    for (unsigned turn = 0; bucket_.locked.exchange(true, acquire); ++turn) {
      // Its holder may be one that never runs while this thread is ready.
      stand_aside(turn >= patience);
    }
  }
  ~locked_bucket() {
    bucket_.locked.store(false, release);  // [wt.lock >] release: the list
  }
  locked_bucket(const locked_bucket&) = delete;
  locked_bucket& operator=(const locked_bucket&) = delete;

  void push(sleeper& own) noexcept {
    own.woken.open(bucket_.spares);
    sleeper** link = &bucket_.first;
    while (*link != nullptr) {
      link = &(*link)->next;
    }
    *link = &own;
  }

  /// False: a wake has taken it out.
  bool remove(sleeper& own) noexcept {
    own.woken.lay_aside(bucket_.spares);
    if (!own.is_listed) {
      return false;
    }
    sleeper** link = &bucket_.first;
    while (*link != &own) {
      link = &(*link)->next;
    }
    *link = own.next;
    return true;
  }

  void wake(const void* address, int how_many) noexcept {
    for (sleeper** link = &bucket_.first; *link != nullptr && how_many > 0;) {
      sleeper& found = **link;
      if (found.address != address) {
        link = &found.next;
        continue;
      }
      *link = found.next;
      found.is_listed = false;
      found.woken.post();  // WT2
      --how_many;
    }
  }

 private:
  const uninterrupted still_{};
  wait_bucket& bucket_;
};

THRUM_NOINLINE THRUM_OUT_OF_LINE bool futex_wait(std::atomic<std::uint32_t>& word,
                                                 std::uint32_t expected,
                                                 std::int64_t timeout_ns) noexcept {
  const kept_error before;
  const std::int64_t deadline = timeout_ns < 0 ? -1 : deadline_after(timeout_ns);
  wait_bucket& bucket = wait_table::bucket_of(&word);
  sleeper own{&word};
  {
    locked_bucket guard(bucket);
    if (word.load(relaxed) != expected) {  // relaxed: ordered by the bucket's lock
      return true;
    }
    guard.push(own);
  }
  const bool in_time = own.woken.wait_until(deadline);
  const bool was_woken = !locked_bucket(bucket).remove(own);  // WT2
  own.woken.close();
  return was_woken || in_time;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void futex_wake(std::atomic<std::uint32_t>& word,
                                                 int how_many) noexcept {
  const kept_error before;
  const void* const address = &word;
  locked_bucket(wait_table::bucket_of(address)).wake(address, how_many);
}

THRUM_OUT_OF_LINE void forget_sleepers() noexcept {
  for (wait_bucket& each : process_wide<wait_table>::get().buckets) {
    each.first = nullptr;
    each.locked.store(false, relaxed);  // relaxed: there is only this thread
  }
}

/// In each shared object that holds the library, as it is loaded.
inline const bool are_sleepers_forgotten = (call_in_child(&forget_sleepers), true);

}}}  // namespace thrum::THRUM_ABI::os

#endif  // !THRUM_HAS_FUTEX
#endif

#endif  // !THRUM_HAS_FUTEX
#endif  // THRUM_DETAIL_OS_WAIT_TABLE_HPP
