// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The queue that all Ps share: a FIFO under a spin lock.
//
// Here go goroutines that were preempted, what overflowed from a ring, and what was made runnable by a
// thread without a P. Those that yielded stay on their P (yield_queue.hpp). It has a lock of its own, apart
// from the one over the idle lists (Go uses one for both). In Go the shared lock ensures that no M gives up
// a P unnoticed between "the queue is empty" and "I am idle". Here `need_spinning` ensures it: see idle.hpp.
//
// Beside the FIFO stands a second one, for goroutines that had to give way and could have gone on:
// they come when no others are here, or after every few others. So a goroutine that has waited for
// something does not stand behind two hundred that always have something to do. A third is for
// those between the two: they have waited for the poller, but had moved a whole share before (see
// io_share.hpp), and will again. In the first queue they would make all turns short: each goroutine
// that gives way would find one of them a moment later. In the second, an accept loop after a burst
// would wait for a slice of each.
// So the second and the third take turns.
#ifndef THRUM_DETAIL_SCHED_QUEUE_GLOBAL_QUEUE_HPP
#define THRUM_DETAIL_SCHED_QUEUE_GLOBAL_QUEUE_HPP

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
class alignas(base::cache_line_size) global_queue {
 public:
  using queue = base::intrusive_queue<T>;

  /// Whether something may be there. Never a lasting no: a submitter wakes an M after it has
  /// put its goroutine here.
  THRUM_INLINE bool empty() const noexcept {
    // [gq.size =] seq_cst: after dropping the spin; sees: update_size, update_behind
    return size_.load(seq_cst) == 0 && behind_size_.load(seq_cst) == 0;  // [gq.size =] too
  }

  std::size_t size() const noexcept {
    return size_.load(relaxed) + behind_size_.load(relaxed);  // relaxed: figures for reports
  }

  spin_lock& lock() noexcept { return lock_; }

  void push_back(T& item) noexcept {
    scoped guard(lock_);
    push_back_locked(item);
  }

  /// A goroutine that has given way to others, and could have gone on.
  void push_behind(T& item) noexcept {
    scoped guard(lock_);
    behind_.push_back(&item);
    update_behind();
  }

  /// Goroutines that have waited in the poller, and had moved much before.
  void append_returned(queue&& items) noexcept {
    if (items.empty()) {
      return;
    }
    scoped guard(lock_);
    returned_.append(static_cast<queue&&>(items));
    update_behind();
  }

  /// Whether there are others than those that gave way, returned from the poller or were stopped.
  bool others_wait() noexcept {
    if (empty()) {
      return false;
    }
    scoped guard(lock_);
    return items_.size() > preempted_;
  }

  /// A goroutine that a signal took the processor from; before all others if it is `next`. It never
  /// leaves in a batch, so that each of them stands here, where take_preempted finds it.
  void push_preempted(T& item, bool next) noexcept {
    scoped guard(lock_);
    item.preempted = true;
    ++preempted_;
    if (next) {
      items_.push_front(&item);
      update_size();
    } else {
      push_back_locked(item);
    }
  }

  /// The first of all, if it is one of them; or, rather, one of them close behind it that
  /// `suits(item)`, if the first can wait: it is passed over `most` times at most.
  template <class Suits>
  T* take_preempted_in_turn(Suits suits, std::uint32_t most) noexcept {
    scoped guard(lock_);
    T* const first = items_.front();
    if (preempted_ == 0 || !first->preempted || is_turn_of_behind()) {
      return nullptr;
    }
    ++before_behind_;
    T* item = nullptr;
    if (first->passed_over < most) {
      bool close = true;
      item = items_.take_first([&](const T& each) {
        close = close && each.preempted;
        return close && suits(each);
      });
    }
    if (item == nullptr) {
      item = items_.pop_front();
    } else if (item != first) {
      ++first->passed_over;
    }
    item->preempted = false;
    item->passed_over = 0;
    --preempted_;
    update_size();
    return item;
  }

  bool has_preempted() noexcept {
    scoped guard(lock_);
    return preempted_ != 0;
  }

  /// The first of them, out of its turn.
  T* take_preempted() noexcept {
    scoped guard(lock_);
    return preempted_ == 0 ? nullptr : take_locked([](const T& each) { return each.preempted; });
  }

  /// The first that `suits(item)`, out of its turn. Looks at all of them.
  template <class Suits>
  T* take(Suits suits) noexcept {
    scoped guard(lock_);
    return take_locked(suits);
  }

  void append(queue&& items) noexcept {
    scoped guard(lock_);
    if (items_.size() >= look_ahead<T>::long_queue && items.size() <= longest_linked) [[unlikely]] {
      for (T* item = items.front(); item != nullptr; item = item->queue_next) {
        ahead_.link(*item);
      }
    }
    items_.append(static_cast<queue&&>(items));
    update_size();
  }

  /// In front of everything: what a retiring P leaves, and goroutines that have waited in the
  /// poller.
  void prepend(queue&& items) noexcept {
    scoped guard(lock_);
    items_.prepend(static_cast<queue&&>(items));
    update_size();
  }

  T* pop() noexcept {
    scoped guard(lock_);
    return pop_locked();
  }

  /// A fair share for one of `procs` Ps with room for `most` more: size / procs + 1. (Go's rule.)
  queue take_share(unsigned procs, std::size_t most) noexcept {
    scoped guard(lock_);
    return take_share_locked(procs, most);
  }

  void push_back_locked(T& item) noexcept {
    if (items_.size() >= look_ahead<T>::long_queue) [[unlikely]] {
      ahead_.link(item);
    }
    items_.push_back(&item);
    update_size();
  }

  THRUM_INLINE T* pop_locked() noexcept {
    if (has_behind()) [[unlikely]] {
      if (T* const item = pop_behind_in_turn()) {
        return item;
      }
    }
    T* const item = items_.pop_front();
    update_size();
    if (preempted_ != 0 && item->preempted) [[unlikely]] {
      item->preempted = false;
      --preempted_;
    }
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

  queue take_share_locked(unsigned procs, std::size_t most) noexcept {
    std::size_t n = items_.size() / procs + 1;
    if (n > most) {
      n = most;
    }
    if (preempted_ != 0 || has_behind()) [[unlikely]] {
      queue one;
      if (T* const first = pop_locked()) {
        one.push_back(first);
      }
      return one;
    }
    queue share = items_.size() >= look_ahead<T>::long_queue ? pop_far(n) : items_.pop_front_n(n);
    update_size();
    return share;
  }

 private:
  template <class Suits>
  T* take_locked(Suits suits) noexcept {
    T* item = items_.take_first(suits);
    if (item == nullptr) {
      item = behind_.take_first(suits);
      if (item == nullptr) {
        item = returned_.take_first(suits);
      }
      update_behind();
    }
    if (item != nullptr) {
      preempted_ -= item->preempted ? 1 : 0;
      item->preempted = false;
      item->queue_ahead = nullptr;
      update_size();
    }
    return item;
  }

  /// The first n of a long queue: looking for the last of them is a walk through what no cache holds.
  THRUM_COLD queue pop_far(std::size_t n) noexcept {
    queue taken;
    for (; n != 0 && !items_.empty(); --n) {
      T* const item = items_.pop_front();
      if (item->queue_ahead != nullptr) {
        look_ahead<T>::fetch(*item);
      }
      taken.push_back(item);
    }
    return taken;
  }

  /// The first of those behind, if it is their turn or no others are here. There must be one.
  THRUM_COLD T* pop_behind_in_turn() noexcept {
    if (!items_.empty() && !is_turn_of_behind()) {
      ++before_behind_;
      return nullptr;
    }
    before_behind_ = 0;
    is_turn_of_returned_ = !returned_.empty() && (is_turn_of_returned_ || behind_.empty());
    T* const item = is_turn_of_returned_ ? returned_.pop_front() : behind_.pop_front();
    is_turn_of_returned_ = !is_turn_of_returned_;
    update_behind();
    return item;
  }

  /// Whether enough others were taken since one of them was.
  bool is_turn_of_behind() const noexcept {
    constexpr std::uint32_t others = 3;
    return has_behind() && before_behind_ >= others;
  }

  void update_size() noexcept {
    // [gq.size >] release: the submitter's fence, not this store, orders it before its look at the
    // spinning count (idle.hpp, step S2).
    size_.store(items_.size(), release);
  }

  bool has_behind() const noexcept { return !behind_.empty() || !returned_.empty(); }

  void update_behind() noexcept {
    behind_size_.store(behind_.size() + returned_.size(),
                       release);  // [gq.size >] release: as in update_size
  }

  /// Longer batches are not walked under the lock.
  static constexpr std::size_t longest_linked = 2 * Traits::run_queue_capacity;

  spin_lock lock_{lock_rank::global};
  queue items_;
  look_ahead<T> ahead_;        // of them
  std::size_t preempted_ = 0;  // of them
  queue behind_;
  queue returned_;
  bool is_turn_of_returned_ = false;
  std::uint32_t before_behind_ = 0;  // taken from the others since one of these was
  typename Traits::template atomic<std::size_t> size_{0};
  typename Traits::template atomic<std::size_t> behind_size_{0};
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
