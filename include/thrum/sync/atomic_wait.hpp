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

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/stoppable.hpp>

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
  static_assert(std::atomic<T>::is_always_lock_free,
                "atomic_wait: the atomic must be lock-free, because atomic_wait reads it while it "
                "holds a lock");
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

/// atomic_wait for at most a time, until a moment of any clock, or until a stop is requested; returns
/// whether the value is another one. A cancellation point.
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
template <class T, until_condition Stop>
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

#if THRUM_BODIES
#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/wake_list.hpp>
#include <thrum/detail/sync/wait_list.hpp>

#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

/// The queues. A wait point's `slot` is the address that it waits for.
struct address_table {
  static constexpr std::string_view process_name = "sync_detail::address_table";
  static constexpr std::size_t size = 256;

  struct alignas(base::cache_line_size) queue {
    sched::spin_lock lock{sched::lock_rank::waiters};
    wait_list waiters{lock};
  };
  queue queues[size];

  static queue& of(const void* object) noexcept {
    // The golden ratio in 64 bits: neighbours go far apart. (Knuth, The Art of Computer Programming,
    // volume 3, 6.4.)
    constexpr std::uint64_t far_apart = 0x9e37'79b9'7f4a'7c15;
    constexpr unsigned bits = 8;
    static_assert(size == std::size_t{1} << bits);
    const std::uint64_t hash =
        base::convert<std::uint64_t>(reinterpret_cast<std::uintptr_t>(object)) * far_apart;
    return os::process_wide<address_table>::get().queues[hash >> (64 - bits)];
  }
};

THRUM_OUT_OF_LINE bool wait_on_address(const void* object, bool (*is_old)(const void*, const void*),
                                       const void* old, std::int64_t deadline) {
  address_table::queue& queue = address_table::of(object);
  sched::wake_cause cause;
  {
    sched::section here;
    waiting self(here, queue.waiters, const_cast<void*>(object));
    queue.lock.lock();
    if (!is_old(object, old)) {
      queue.lock.unlock();
      return true;
    }
    cause = self.wait({sched::wait_reason::cond_wait, true, deadline});
  }
  sched::exit_if_cancelled(cause);
  return cause == sched::wake_cause::notified;
}

THRUM_OUT_OF_LINE void notify_address(const void* object, std::size_t most) noexcept {
  address_table::queue& queue = address_table::of(object);
  const sched::section here;
  sched::wake_list released;
  // [aw.value >] release: what was done before, also if the value was changed relaxed.
  sched::traits::fence(base::orders::release);
  queue.lock.lock();
  auto& points = queue.waiters.points;
  for (sched::wait_point* each = points.front(); each != nullptr && most != 0;) {
    sched::wait_point* const after = points.next(*each);
    if (each->slot == object) {
      points.remove(*each);
      settle(*each, sched::wake_cause::notified);
      released.push_back(each);
      --most;
    }
    each = after;
  }
  queue.lock.unlock();
  released.wake_all();
}

}}}  // namespace thrum::THRUM_ABI::sync_detail
#endif

#endif
