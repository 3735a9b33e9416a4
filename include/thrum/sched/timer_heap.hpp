// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The timers of one P: a four-ary heap ordered by due time.
//
// Purpose
//   Each P keeps the timers that its goroutines armed. The P's own M looks at them between
//   goroutines; an M that finds nothing else to do runs the due timers of any P, so a P that is
//   busy for long does not delay them.
//
// State
//   A timer is idle (heap null, not firing), armed (heap set, index valid) or firing (taken out of
//   its heap, its function is running). Only the heap's lock moves it between the first two; the
//   thread that runs it moves it armed -> firing under the lock and firing -> idle after its
//   function has returned.
//
// Invariants
//   TH1  entries_[t.index].owner == &t for each armed timer t.
//   TH2  no entry is due before its parent, (i - 1) / 4.
//   TH3  earliest_ is the due time of entry 0, or `never` for an empty heap, whenever nobody
//        holds the lock.
//   TH4  after remove() has returned, the timer's function is not running and will not run.
//
// Why four-ary: half the levels of a binary heap, and four siblings of 16 bytes lie in one cache
// line. The due time stands beside the pointer so that sifting touches no timer. (From Go.)
// Functions run without the lock: they lock the object that somebody waits on, and lock order is
// object before heap, because a waiter arms its timer while it holds its object.
//
// The array comes from pages, not from malloc: timers are armed in sections in which nothing may
// be called that takes a lock a preempted goroutine could hold.
#ifndef THRUM_SCHED_TIMER_HEAP_HPP
#define THRUM_SCHED_TIMER_HEAP_HPP

#include <thrum/arch/arch.hpp>
#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/lock.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace thrum::inline THRUM_ABI::sched {

template <class Traits>
class timer_heap;

/// Something that is to happen at a time. Lives inside the object that waits for it.
template <class Traits>
struct basic_timer {
  /// Runs on whatever M finds the timer due, without any lock, on a stack that must not block.
  /// `first` is true for the earliest of the timers that were found due together.
  using function = void (*)(basic_timer&, bool first) noexcept;

  function fire = nullptr;
  typename Traits::template atomic<timer_heap<Traits>*> heap{nullptr};
  typename Traits::template atomic<bool> firing{false};
  std::uint32_t index = 0;  // under the heap's lock
};

template <class Traits>
class timer_heap {
 public:
  using timer = basic_timer<Traits>;

  /// The due time of an empty heap.
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  timer_heap() noexcept = default;
  timer_heap(const timer_heap&) = delete;
  timer_heap& operator=(const timer_heap&) = delete;
  ~timer_heap() { release_pages(); }

  enum class added : std::uint8_t { later, earliest, refused };

  /// Arms an idle timer and says whether it is now the earliest of this heap. `refuse` is asked
  /// once the timer stands in the heap and before anybody can find it due; if it says yes, the
  /// timer is idle again.
  template <class Refuse>
  added add(timer& t, std::int64_t when, Refuse refuse) noexcept;

  /// Disarms a timer, whichever heap it stands in, and waits out a function that is running.
  /// True: it had not fired and will not.
  static bool remove(timer& t) noexcept;

  /// Runs every timer that is due at `now`; returns how many.
  std::size_t run_due(std::int64_t now) noexcept;

  /// Takes over all timers of another heap. Both must not be used by a lock holder meanwhile.
  void take_all(timer_heap& other) noexcept;

  /// When the earliest timer is due, or `never`. May be stale at once.
  std::int64_t earliest() const noexcept {
    return earliest_.load(seq_cst);  // [th.earliest] after dropping the spin; sees: add
  }

  std::size_t size() const noexcept {
    return size_.load(relaxed);  // relaxed: a figure for statistics
  }

 private:
  struct entry {
    std::int64_t when;
    timer* owner;
  };

  static constexpr std::size_t arity = 4;
  static constexpr std::size_t batch = 32;  // due timers taken out in one hold of the lock

  void place(std::size_t i, entry e) noexcept {
    entries_[i] = e;
    e.owner->index = static_cast<std::uint32_t>(i);
  }
  void sift_up(std::size_t i) noexcept;
  void sift_down(std::size_t i) noexcept;
  void erase(std::size_t i) noexcept;
  void insert(timer& t, std::int64_t when) noexcept;
  void grow() noexcept;
  void release_pages() noexcept;

  void publish_earliest() noexcept {
    const std::size_t n = size_.load(relaxed);  // relaxed: we hold the lock
    // [th.earliest] seq_cst: an M that gives up its P first counts itself out and then reads this;
    // whoever adds a timer first writes this and then looks for such an M.
    earliest_.store(n == 0 ? never : entries_[0].when, seq_cst);
  }

  spin_lock lock_;
  entry* entries_ = nullptr;
  std::size_t capacity_ = 0;
  typename Traits::template atomic<std::size_t> size_{0};
  typename Traits::template atomic<std::int64_t> earliest_{never};
};

template <class Traits>
template <class Refuse>
typename timer_heap<Traits>::added timer_heap<Traits>::add(timer& t, std::int64_t when,
                                                           Refuse refuse) noexcept {
  // [th.firing] acquire: the thread that fired it last must have let go of it.
  while (t.firing.load(acquire)) {
    arch::spin_hint();
  }
  scoped guard(lock_);
  insert(t, when);
  if (refuse()) {
    erase(t.index);
    t.heap.store(nullptr, relaxed);  // relaxed: only the owner of the timer arms it again
    publish_earliest();
    return added::refused;
  }
  publish_earliest();
  return t.index == 0 ? added::earliest : added::later;
}

template <class Traits>
bool timer_heap<Traits>::remove(timer& t) noexcept {
  for (;;) {
    // [th.heap] acquire: the heap that published itself; sees: insert, take_all
    timer_heap* heap = t.heap.load(acquire);
    if (heap == nullptr) {
      // [th.firing] acquire: what the function did happened before we return (TH4).
      for (std::uint32_t spins = 0; t.firing.load(acquire); ++spins) {
        if (spins % 128 == 127) {
          os::yield_thread();
        } else {
          arch::spin_hint();
        }
      }
      return false;
    }
    scoped guard(heap->lock_);
    if (t.heap.load(relaxed) != heap) {  // relaxed: stable while we hold the heap's lock
      continue;
    }
    heap->erase(t.index);
    t.heap.store(nullptr, relaxed);  // relaxed: only the owner of the timer arms it again
    heap->publish_earliest();
    return true;
  }
}

template <class Traits>
std::size_t timer_heap<Traits>::run_due(std::int64_t now) noexcept {
  std::size_t ran = 0;
  while (earliest() <= now) {
    timer* due[batch];
    std::size_t n = 0;
    {
      scoped guard(lock_);
      while (n < batch && size_.load(relaxed) > 0 && entries_[0].when <= now) {  // relaxed: locked
        timer* t = entries_[0].owner;
        t->firing.store(true, relaxed);  // relaxed: published by the store to heap
        erase(0);
        // [th.heap] release: whoever sees it out of the heap also sees it firing.
        t->heap.store(nullptr, release);
        due[n++] = t;
      }
      publish_earliest();
    }
    for (std::size_t i = 0; i < n; ++i) {
      timer* t = due[i];
      t->fire(*t, i == 0);
      // [th.firing] release: the function's effects, to add and remove.
      t->firing.store(false, release);
    }
    ran += n;
  }
  return ran;
}

template <class Traits>
void timer_heap<Traits>::take_all(timer_heap& other) noexcept {
  scoped guard_other(other.lock_);
  scoped guard(lock_);
  const std::size_t n = other.size_.load(relaxed);  // relaxed: locked
  for (std::size_t i = 0; i < n; ++i) {
    insert(*other.entries_[i].owner, other.entries_[i].when);
  }
  other.size_.store(0, relaxed);  // relaxed: locked
  other.publish_earliest();
  publish_earliest();
}

template <class Traits>
void timer_heap<Traits>::insert(timer& t, std::int64_t when) noexcept {
  const std::size_t n = size_.load(relaxed);  // relaxed: locked
  if (n == capacity_) {
    grow();
  }
  size_.store(n + 1, relaxed);  // relaxed: locked
  place(n, entry{when, &t});
  // [th.heap] release: remove() by another thread may go by it.
  t.heap.store(this, release);
  sift_up(n);
}

template <class Traits>
void timer_heap<Traits>::erase(std::size_t i) noexcept {
  const std::size_t last = size_.load(relaxed) - 1;  // relaxed: locked
  THRUM_ASSERT(TH1, i <= last);
  size_.store(last, relaxed);  // relaxed: locked
  if (i == last) {
    return;
  }
  place(i, entries_[last]);
  sift_up(i);
  sift_down(i);
}

template <class Traits>
void timer_heap<Traits>::sift_up(std::size_t i) noexcept {
  const entry moving = entries_[i];
  while (i > 0) {
    const std::size_t parent = (i - 1) / arity;
    if (entries_[parent].when <= moving.when) {
      break;
    }
    place(i, entries_[parent]);
    i = parent;
  }
  place(i, moving);
}

template <class Traits>
void timer_heap<Traits>::sift_down(std::size_t i) noexcept {
  const entry moving = entries_[i];
  const std::size_t n = size_.load(relaxed);  // relaxed: locked
  for (;;) {
    const std::size_t first = i * arity + 1;
    if (first >= n) {
      break;
    }
    const std::size_t end = first + arity < n ? first + arity : n;
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (entries_[child].when < entries_[least].when) {
        least = child;
      }
    }
    if (moving.when <= entries_[least].when) {
      break;
    }
    place(i, entries_[least]);
    i = least;
  }
  place(i, moving);
}

template <class Traits>
void timer_heap<Traits>::grow() noexcept {
  const std::size_t bytes = capacity_ == 0 ? os::page_size() : capacity_ * sizeof(entry) * 2;
  void* pages = os::map(bytes);
  if (pages == nullptr) {
    base::fatal("sleep: no memory for another timer; raise the memory limit of the process");
  }
  const std::size_t n = size_.load(relaxed);  // relaxed: locked
  if (n != 0) {
    std::memcpy(pages, entries_, n * sizeof(entry));
  }
  release_pages();
  entries_ = static_cast<entry*>(pages);
  capacity_ = bytes / sizeof(entry);
}

template <class Traits>
void timer_heap<Traits>::release_pages() noexcept {
  if (entries_ != nullptr) {
    os::unmap(entries_, capacity_ * sizeof(entry));
  }
}

}  // namespace thrum::inline THRUM_ABI::sched

#endif
