// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The word of a mutex, which holds the list of its waiters: see the head of mutex.hpp, whose
// definitions have the bodies. What a waiter is stands in mutex_waiter.hpp, for those only.
#ifndef THRUM_DETAIL_SYNC_MUTEX_QUEUE_HPP
#define THRUM_DETAIL_SYNC_MUTEX_QUEUE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

using namespace base::orders;

/// The word of a mutex, and its queue as something that lock() and unlock() can be called on.
class queue_word {
 public:
  static constexpr std::uintptr_t locked = 1;
  static constexpr std::uintptr_t queue = 2;
  static constexpr std::uintptr_t starving = 4;
  static constexpr std::uintptr_t woken = 8;
  static constexpr std::uintptr_t flags = 15;

  /// A waiter. Aligned so that its address leaves room for the flags.
  struct waiter;

  static waiter* head(std::uintptr_t word) noexcept {
    return reinterpret_cast<waiter*>(word & ~flags);
  }

  std::atomic<std::uintptr_t> word{0};

  /// Takes the queue bit.
  void lock() noexcept;
  bool try_lock() noexcept { return try_set_queue(); }
  bool is_locked() const noexcept {
    return (word.load(relaxed) & queue) != 0;  // relaxed: a hint whether to try
  }

  /// Drops the queue bit, and sees to MU2: wakes the first waiter if the mutex is free.
  void unlock() noexcept;

  /// Links a waiter in front or at the end. Caller holds the queue bit.
  void link(waiter& self, bool in_front) noexcept;

  /// Unlinks a waiter if it is still there. Caller holds the queue bit.
  bool unlink(waiter& self) noexcept;

  /// Unlocks while there are waiters: drops `locked` and the queue bit at once, or, if the mutex is
  /// starving, passes it on. Wakes the first waiter unless one is awake. Caller holds both bits.
  void release() noexcept;

  static void back_off(std::uint32_t spins) noexcept;

 private:
  bool try_set_queue() noexcept;

  /// The waiter behind the first, made ready to be the first.
  static waiter* second(waiter& first) noexcept;

  /// Whether the first waiter stays, before the exchange that lets the next holder of the bit see.
  static void set_linked(waiter* first, bool stays) noexcept;

  /// The word with its first waiter taken off. Caller holds the queue bit.
  static std::uintptr_t without_first(std::uintptr_t w) noexcept;

  void set_head(std::uintptr_t w, waiter* first) noexcept;

  /// WP3: the bit is dropped already; but the mutex stands until the waiter has run, which comes
  /// back to it or owns it.
  static void wake_waiter(waiter& first, bool granted) noexcept;
};

}}}  // namespace thrum::THRUM_ABI::sync_detail

#endif
