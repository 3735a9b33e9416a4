// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The goroutines that yielded on one P: a FIFO under a lock of its own.
//
// Purpose
//   A goroutine that yields goes behind all that wait on its P, and comes back on that P, where its
//   stack is in the cache. In one queue of all Ps each yield moved the lock, the queue's ends, the
//   goroutine and its stack between cores: with 1,000 goroutines a yield on two far cores took 93 ns,
//   on one 27.
//   The ring is no place for them: it holds 256, and what overflows from it comes back once in 61
//   turns, so a goroutine in the ring would get dozens of turns for one of those that found no room.
//
// Who does what
//   holder of the P   adds; takes the oldest; both at once by exchange_locked
//   other Ms          a thief that has found the ring empty takes the older half. A P on which
//                     goroutines yield, too, levels: it takes half of what the other has more.
//
// Invariants
//   YQ1  Only the holder of the P adds. So a queue that its holder finds empty is empty.
//   YQ2  empty() is never true while the queue holds goroutines all the time: exchange_locked leaves
//        the size as it is. Thus an exchange needs no wake-up: as many wait as before, and an M that
//        searches or is about to sleep (idle.hpp, I6) has seen them.
//   YQ3  A goroutine that yields keeps the lock until its stack is left. A thread that takes it out may run it.
//
// Fairness between Ps, by count
//   Each 976 yields (yields_between_looks) a P looks at one other P, at each in turn. If more wait there,
//   it takes half of the difference, rounded up, at most 128. A difference of one moves back and forth:
//   of three goroutines on two Ps each has about two thirds of a P. A goroutine on the P with few has
//   more turns only until the looks have levelled them: of one beside another, and one beside a
//   thousand, for ten looks.
//
// Tried and rejected
//   The own ring's tail, see above. The global queue in batches: each goroutine still changes cores
//   every other turn, and its stack and its G with it.
//
// Checked by tests/unit/sched/queue/yield_queue_test.cpp, tests/unit/sched/run/yield_test.cpp and
// tests/model/idle_protocol_model.cpp.
#ifndef THRUM_DETAIL_SCHED_QUEUE_YIELD_QUEUE_HPP
#define THRUM_DETAIL_SCHED_QUEUE_YIELD_QUEUE_HPP

#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/queue/look_ahead.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

template <class T, class Traits>
class alignas(base::cache_line_size) yield_queue {
 public:
  using queue = base::intrusive_queue<T>;

  /// So many change Ps at a time: a thief walks from each to the next under the lock.
  static constexpr std::size_t most = Traits::run_queue_capacity / 2;

  // ---- any thread ----

  /// YQ2. May be out of date for all but the holder of the P.
  bool empty() const noexcept {
    // [yq.size <] acquire: an idler's look follows the fence of I5; sees: update_size
    return size_.load(acquire) == 0;
  }

  std::uint32_t size() const noexcept {
    return size_.load(relaxed);  // relaxed: a figure, or a guess of how many are more
  }

  /// The oldest: half of what waits here more than `own`, rounded up, but not more than `most`.
  queue take_surplus(std::size_t own) noexcept {
    scoped guard(lock_);
    const std::size_t n = items_.size();
    const std::size_t half = n > own ? (n - own + 1) / 2 : 0;
    return take_locked(half < most ? half : most);
  }

  /// The oldest, or null.
  T* pop() noexcept {
    if (empty()) {
      return nullptr;
    }
    scoped guard(lock_);
    T* const item = items_.empty() ? nullptr : pop_front();
    update_size();
    return item;
  }

  // ---- the holder of the P ----

  spin_lock& lock() noexcept { return lock_; }

  void append(queue&& items) noexcept {
    scoped guard(lock_);
    items_.append(static_cast<queue&&>(items));
    update_size();
  }

  queue drain() noexcept {
    if (empty()) {
      return {};
    }
    scoped guard(lock_);
    queue all = static_cast<queue&&>(items_);
    update_size();
    return all;
  }

  void push_back_locked(T& item) noexcept {
    push_back(item);
    update_size();
  }

  /// Adds one and takes the oldest of the others; null, and it adds none, if there are no others.
  THRUM_INLINE T* exchange_locked(T& item) noexcept {
    if (items_.empty()) {
      return nullptr;
    }
    push_back(item);
    return pop_front();
  }

 private:
  THRUM_INLINE void push_back(T& item) noexcept {
    if (items_.size() >= look_ahead<T>::long_queue) [[unlikely]] {
      ahead_.link(item);
    }
    items_.push_back(&item);
  }

  /// There must be one.
  THRUM_INLINE T* pop_front() noexcept {
    T* const item = items_.pop_front();
    // The next caller runs the one that is first now: its stack, and the head of its successor.
    if (T* const first = items_.front()) {
      if (item->queue_ahead != nullptr) [[unlikely]] {
        look_ahead<T>::fetch(*item);
      } else {
        __builtin_prefetch(first->sp.peek());
        __builtin_prefetch(first->queue_next);
      }
    }
    return item;
  }

  queue take_locked(std::size_t n) noexcept {
    queue taken;
    for (T* item; n != 0 && (item = items_.pop_front()) != nullptr; --n) {
      item->queue_ahead = nullptr;
      taken.push_back(item);
    }
    update_size();
    return taken;
  }

  void update_size() noexcept {
    // [yq.size >] release: the fence of the thread that wakes a processor orders it (idle.hpp, S2)
    size_.store(static_cast<std::uint32_t>(items_.size()), release);
  }

  spin_lock lock_{lock_rank::yielded};
  queue items_;
  typename Traits::template atomic<std::uint32_t> size_{0};
  look_ahead<T> ahead_;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
