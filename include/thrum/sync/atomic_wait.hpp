// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// atomic_wait, atomic_notify_one, atomic_notify_all: as the standard's, but a goroutine that waits is
// parked.
//
// The waiters stand in a table of queues, found by the address of the atomic; several addresses may
// share a queue. A waiter looks at the value under the queue's lock before it parks, and a notifier
// takes that lock after the value was changed: so either the waiter sees the new value, or the
// notifier sees the waiter. The table is the process's, for atomics that are shared by several
// objects of code.
//
// Fences of [aw.value]: notify_address.
#ifndef THRUM_SYNC_ATOMIC_WAIT_HPP
#define THRUM_SYNC_ATOMIC_WAIT_HPP

#include <thrum/base/config.hpp>
#include <thrum/deadline.hpp>
#include <thrum/sched/queue/no_deadline.hpp>
#include <thrum/stoppable.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace thrum { inline namespace THRUM_ABI {

namespace sync_detail {

/// Waits until it is notified, unless is_old(object) is false; whether it was so before the deadline.
/// Called under a lock: it must be a load of the atomic.
THRUM_OUT_OF_LINE bool wait_on_address(const void* object, bool (*is_old)(const void*, const void*),
                                       const void* old, std::int64_t deadline);
THRUM_OUT_OF_LINE void notify_address(const void* object, std::size_t most) noexcept;

template <class T>
constexpr bool can_be_waited_for() {
  static_assert(
      std::atomic<T>::is_always_lock_free,
      "atomic_wait: the atomic is looked at under a lock, so it must be free of locks itself");
  return true;
}

/// The standard compares representations, too.
template <class T>
bool is_same(const T& a, const T& b) noexcept {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
bool is_old_value(const void* object, const void* old) {
  // [aw.value <] acquire: what was done before the value was changed.
  const T now = static_cast<const std::atomic<T>*>(object)->load(std::memory_order_acquire);
  return is_same(now, *static_cast<const T*>(old));
}

/// Waits once more as long as the value is the old one; whether it is another one.
template <class T>
bool wait_while_old(const std::atomic<T>* object, const T& old, std::int64_t deadline) {
  static_assert(can_be_waited_for<T>());
  while (is_old_value<T>(object, &old)) {
    if (!wait_on_address(object, &is_old_value<T>, &old, deadline)) {
      return !is_old_value<T>(object, &old);
    }
  }
  return true;
}

}  // namespace sync_detail

/// Blocks while the atomic has the value `old`: returns when it is notified and has another one. A
/// goroutine is parked, a foreign thread blocked; both are notified by thrum::atomic_notify_one and
/// atomic_notify_all, and not by members of std::atomic. As std::atomic_wait, with loads that acquire;
/// write thrum:: before the name, since that of std is found too. A cancellation point.
template <class T>
void atomic_wait(const std::atomic<T>* object, std::type_identity_t<T> old) {
  sync_detail::wait_while_old(object, old, sched::no_deadline);
}

/// The same for at most a time, until a moment of any clock, or until a stop is requested; whether
/// the value is another one. A cancellation point.
template <class T, class Rep, class Period>
[[nodiscard]] bool atomic_wait_for(const std::atomic<T>* object, std::type_identity_t<T> old,
                                   std::chrono::duration<Rep, Period> time) {
  return sync_detail::wait_while_old(object, old, time_detail::deadline_after(time));
}
template <class T, class Clock, class Duration>
[[nodiscard]] bool atomic_wait_until(const std::atomic<T>* object, std::type_identity_t<T> old,
                                     std::chrono::time_point<Clock, Duration> when) {
  return time_detail::retry_until(when, [&](std::int64_t deadline) {
    return sync_detail::wait_while_old(object, old, deadline);
  });
}
template <class T, stop_condition Stop>
[[nodiscard]] bool atomic_wait(const std::atomic<T>* object, std::type_identity_t<T> old,
                               const Stop& stop) {
  return stop_detail::until_stopped(stop, [&](std::int64_t deadline) {
    return sync_detail::wait_while_old(object, old, deadline);
  });
}

/// Wakes one that waits for that atomic, the one that came first. Change the value before. The atomic
/// may be gone. Does not block.
template <class T>
void atomic_notify_one(const std::atomic<T>* object) noexcept {
  sync_detail::notify_address(object, 1);
}

/// Wakes all that wait for that atomic.
template <class T>
void atomic_notify_all(const std::atomic<T>* object) noexcept {
  sync_detail::notify_address(object, static_cast<std::size_t>(-1));
}

}}  // namespace thrum::THRUM_ABI

#if !THRUM_SEPARATE
#include <thrum/sync/atomic_wait_definition.hpp>
#endif

#endif
