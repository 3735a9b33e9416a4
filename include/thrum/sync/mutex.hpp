// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// mutex: mutual exclusion that parks the goroutine, in eight bytes.
//
// State: one word.
//   bit 0  locked    the mutex has an owner
//   bit 1  queue     one caller holds the list of waiters; see `queue_word`
//   bit 2  starving  a waiter has waited for more than 1 ms: ownership is handed over
//   bit 3  woken     a waiter is awake and will try to lock: unlock need not wake another
//   rest   the first waiter; its `last` is the last one, `next` leads from each to the next, and
//          `prev` back from each but the first: so a waiter whose time is over leaves in a few
//          steps
//
// Invariants
//   MU1  the list and its links change only under the queue bit, and so does `linked`, which says
//        whether a waiter is in the list.
//   MU2  when the queue bit is dropped: the mutex is locked, or no waiter is left, or a waiter is awake.
//        So an unlock that finds the bit taken may leave the waking to its holder.
//   MU3  in starving mode unlock never clears `locked` while there is a waiter.
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
// when it finds out that it has to wake a waiter (MU4); a table of queues by address as in Go,
// which is a lock and a cache miss more for each waiter.
//
// Fences of [mu.word]: lock_slow, start.
//
// Sources: Go, src/internal/sync/mutex.go. Checked by mutex_test.cpp and mutex_model.cpp.
#ifndef THRUM_SYNC_MUTEX_HPP
#define THRUM_SYNC_MUTEX_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/sync/mutex_queue.hpp>
#include <thrum/stop_condition.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

namespace coroutine_detail {
struct object_access;
}

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
  template <until_condition Stop>
  [[nodiscard]] bool lock(const Stop& stop) {
    return try_lock() || stop_detail::until_stopped(
                             stop, [this](std::int64_t deadline) { return lock_slow(deadline); });
  }

  /// Releases it; the next owner may destroy it at once. usage_error if it is not locked.
  void unlock() {
    std::uintptr_t alone = queue_word::locked;
    // [mu.word >] release: our section, to the next owner; relaxed: unlock_slow's exchanges decide
    if (!queue_.word.compare_exchange_strong(alone, 0, std::memory_order_release,
                                             std::memory_order_relaxed)) [[unlikely]] {
      unlock_slow(alone);
    }
  }

 private:
  friend struct coroutine_detail::object_access;
  using queue_word = sync_detail::queue_word;

  /// It is destroyed, though there are waiters.
  [[gnu::cold]] void end_waits() noexcept;

  [[gnu::cold]] bool lock_slow(std::int64_t deadline);
  [[gnu::cold]] void unlock_slow(std::uintptr_t word);

  sync_detail::queue_word queue_;
};

static_assert(sizeof(mutex) == sizeof(void*));

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sync/destroyed_waiters.hpp>
#include <thrum/detail/sync/mutex_waiter.hpp>

namespace thrum { inline namespace THRUM_ABI {

namespace sync_detail {

using namespace base::orders;
using namespace sched;

THRUM_OUT_OF_LINE void queue_word::lock() noexcept {
  for (std::uint32_t spins = 0; !try_set_queue(); ++spins) {
    back_off(spins);
  }
}

THRUM_OUT_OF_LINE void queue_word::unlock() noexcept {
  std::uintptr_t w = word.load(relaxed);
  for (;;) {
    waiter* const first = head(w);
    const bool wake_first = first != nullptr && (w & (locked | woken)) == 0;
    set_linked(first, !wake_first);
    std::uintptr_t next = w & ~queue;
    if (wake_first) {
      next = without_first(w) & ~queue;
      next |= (w & starving) != 0 ? locked : woken;
    }
    // [mu.word <>] acq_rel: the links, to the next holder of the bit
    if (word.compare_exchange_weak(w, next, acq_rel, relaxed)) {
      if (wake_first) {
        wake_waiter(*first, (w & starving) != 0);
      }
      return;
    }
  }
}

THRUM_OUT_OF_LINE void queue_word::link(waiter& self, bool in_front) noexcept {
  std::uintptr_t w = word.load(relaxed);  // relaxed: the pointer is ours, the exchange decides
  THRUM_ASSERT(MU1, (w & queue) != 0);
  waiter* const first = head(w);
  self.linked = true;
  if (first != nullptr && !in_front) {
    self.prev = first->last;
    first->last->next = &self;
    first->last = &self;
    return;
  }
  self.next = first;
  self.last = first != nullptr ? first->last : &self;
  if (first != nullptr) {
    first->prev = &self;
  }
  set_head(w, &self);
}

THRUM_OUT_OF_LINE bool queue_word::unlink(waiter& self) noexcept {
  if (!self.linked) {
    return false;
  }
  self.linked = false;
  const std::uintptr_t w = word.load(relaxed);  // relaxed: the pointer is ours
  THRUM_ASSERT(MU1, (w & queue) != 0);
  waiter* const first = head(w);
  if (first == &self) {
    set_head(w, second(*first));
    return true;
  }
  self.prev->next = self.next;
  if (self.next != nullptr) {
    self.next->prev = self.prev;
  } else {
    first->last = static_cast<waiter*>(self.prev);
  }
  return true;
}

THRUM_OUT_OF_LINE void queue_word::release() noexcept {
  std::uintptr_t w = word.load(relaxed);
  for (;;) {
    const bool passes = (w & starving) != 0;
    waiter* const first = passes || (w & woken) == 0 ? head(w) : nullptr;
    set_linked(head(w), first == nullptr);
    std::uintptr_t next = (first != nullptr ? without_first(w) : w) & ~queue;
    if (!passes) {
      next = (next & ~locked) | (first != nullptr ? woken : 0);
    } else if (first == nullptr) {
      next &= ~(locked | starving);
    } else if (head(next) == nullptr) {
      next &= ~starving;
    }
    // [mu.word <>] acq_rel: the section and the links, to the next owner. MU4: the last access
    if (word.compare_exchange_weak(w, next, acq_rel, relaxed)) {
      if (first != nullptr) {
        wake_waiter(*first, passes);
      }
      return;
    }
  }
}

THRUM_OUT_OF_LINE void queue_word::back_off(std::uint32_t spins) noexcept {
  constexpr std::uint32_t patience = 4096;
  if (spins >= patience) {
    sched::back_off(spins);  // sleeps at last
  } else if (spins % 128 < 100) {
    arch::spin_hint();
  } else {
    os::yield_thread();
  }
}

THRUM_OUT_OF_LINE bool queue_word::try_set_queue() noexcept {
  // [mu.word <] acquire: the links that the last holder left.
  return !is_locked() && (word.fetch_or(queue, acquire) & queue) == 0;
}

THRUM_OUT_OF_LINE queue_word::waiter* queue_word::second(waiter& first) noexcept {
  auto* const next = static_cast<waiter*>(first.next);
  if (next != nullptr) {
    next->last = first.last;
  }
  return next;
}

THRUM_OUT_OF_LINE void queue_word::set_linked(waiter* first, bool stays) noexcept {
  if (first != nullptr && first->linked != stays) {
    first->linked = stays;
  }
}

THRUM_OUT_OF_LINE std::uintptr_t queue_word::without_first(std::uintptr_t w) noexcept {
  waiter* const first = head(w);
  if (first == nullptr) {
    return w;
  }
  return (w & flags) | reinterpret_cast<std::uintptr_t>(second(*first));
}

THRUM_OUT_OF_LINE void queue_word::set_head(std::uintptr_t w, waiter* first) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  // relaxed: released with the queue bit; the loop is for the other flags
  while (!word.compare_exchange_weak(w, (w & flags) | address, relaxed, relaxed)) {
  }
}

THRUM_OUT_OF_LINE void queue_word::wake_waiter(waiter& first, bool granted) noexcept {
  first.granted = granted;
  settle(first, wake_cause::notified);
  wake(first);
}

/// Whether to spin: only if the owner may run meanwhile and no other goroutine waits for our processor.
inline bool may_spin(const section& here) noexcept {
  auto* const m = here.m();
  return m != nullptr && m->scheduler->procs() > m->scheduler->idle.idle_ps() + 1 &&
         m->p->queue.empty();
}

inline withdrawal withdraw_from_mutex(wait_point& point, bool locked) noexcept {
  auto& queue = *static_cast<queue_word*>(point.object);
  return unlink_under(queue, locked, [&]() noexcept {
    return queue.unlink(static_cast<queue_word::waiter&>(point));
  });
}

}  // namespace sync_detail

THRUM_COLD THRUM_OUT_OF_LINE bool mutex::lock_slow(std::int64_t deadline) {
  using namespace base::orders;
  constexpr std::int64_t starvation_ns = 1'000'000;  // Go's
  constexpr int spin_rounds = 4;                     // Go's
  constexpr int spin_pauses = 30;                    // Go's
  sched::section here;
  auto& word = queue_.word;
  std::int64_t since = 0;  // when this call first queued up
  bool awake = false;      // we own the `woken` bit
  bool starved = false;
  std::uint32_t collisions = 0;
  int spins = 0;
  std::uintptr_t w = word.load(relaxed);
  for (;;) {
    if ((w & queue_word::locked) == 0) {
      const std::uintptr_t mine = awake ? queue_word::woken : 0;
      // [mu.word <] acquire: the last owner's section
      if (word.compare_exchange_weak(w, (w | queue_word::locked) & ~mine, acquire, relaxed)) {
        return true;
      }
      continue;
    }
    if ((w & queue_word::starving) == 0 && spins < spin_rounds && sync_detail::may_spin(here)) {
      if (!awake && (w & queue_word::woken) == 0 && queue_word::head(w) != nullptr) {
        // relaxed: only tells unlock that a waiter is awake
        awake = word.compare_exchange_weak(w, w | queue_word::woken, relaxed, relaxed);
      }
      for (int i = 0; i < spin_pauses; ++i) {
        arch::spin_hint();
      }
      ++spins;
      w = word.load(relaxed);
      continue;
    }
    if ((w & queue_word::queue) != 0) {
      queue_word::back_off(collisions++);
      w = word.load(relaxed);
      continue;
    }
    std::uintptr_t next = w | queue_word::queue | (starved ? queue_word::starving : 0);
    next &= ~(awake ? queue_word::woken : 0);
    // [mu.word <] acquire: the links
    if (!word.compare_exchange_weak(w, next, acquire, relaxed)) {
      continue;
    }
    queue_word::waiter self;
    self.g = here.g();
    self.object = &queue_;
    self.withdraw = &sync_detail::withdraw_from_mutex;
    // One that has waited before goes to the front: being woken must not cost it its place.
    queue_.link(self, since != 0);
    if (since == 0) {
      since = sched::traits::now();
    }
    const auto cause =
        sched::wait(here, self, queue_, {sched::wait_reason::mutex_lock, false, deadline});
    if (cause == sched::wake_cause::timed_out) {
      return false;
    }
    const bool long_wait = sched::traits::now() - since > starvation_ns;
    if (self.granted) {
      if (!long_wait) {
        // relaxed: the mutex is ours already
        word.fetch_and(~queue_word::starving, relaxed);
      }
      std::atomic_thread_fence(acquire);  // [mu.word <] the last owner's section, handed over
      return true;
    }
    awake = true;
    starved = long_wait;
    spins = 0;
    w = word.load(relaxed);
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void mutex::end_waits() noexcept {
  sync_detail::destroyed_waiters found(&queue_);
  {
    const sched::section here;
    queue_.lock();
    // relaxed: the pointer is ours
    for (auto* w = queue_word::head(queue_.word.load(std::memory_order_relaxed)); w != nullptr;
         w = static_cast<queue_word::waiter*>(w->next)) {
      found.add(*w);
    }
    queue_.unlock();
  }
  found.end("mutex: it");
}

THRUM_COLD THRUM_OUT_OF_LINE void mutex::unlock_slow(std::uintptr_t w) {
  using namespace base::orders;
  {
    const sched::section here;
    std::uint32_t collisions = 0;
    while ((w & queue_word::locked) != 0) {
      const bool others_see_to_it = (w & (queue_word::woken | queue_word::queue)) != 0;  // MU2
      if ((w & queue_word::starving) == 0 && (others_see_to_it || queue_word::head(w) == nullptr)) {
        // [mu.word >] release: as in unlock
        if (queue_.word.compare_exchange_weak(w, w & ~queue_word::locked, release, relaxed)) {
          return;
        }
      } else if ((w & queue_word::queue) != 0) {
        queue_word::back_off(collisions++);
        w = queue_.word.load(relaxed);
        // [mu.word <] acquire: the links
      } else if (queue_.word.compare_exchange_weak(w, w | queue_word::queue, acquire, relaxed)) {
        queue_.release();
        return;
      }
    }
  }
  base::throw_usage("mutex::unlock: the mutex is not locked");
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
