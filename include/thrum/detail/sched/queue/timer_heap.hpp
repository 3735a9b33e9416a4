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
// State: one word.
//   idle      in no heap
//   armed     a due time; an entry stands in the heap, at that time or earlier
//   stopped   the entry still stands in the heap and is dropped when its time comes
//   busy      being fired, dropped or moved by the thread that works on the heap
//   The owner of the timer arms and stops it, by one exchange and without the heap's lock: a wait
//   that ends before its deadline, the common case, leaves its entry behind, and the next wait of
//   the same goroutine, whose deadline is mostly later, revives it. Only an earlier time needs the
//   lock. A goroutine has one timer, so there are never more stopped entries than goroutines.
//   Armed or stopped becomes busy under the heap's lock only.
//
// Invariants
//   TH1  for each timer t that is armed or stopped, slots_[t.slot] names t and the place of its entry,
//        and that entry names the slot.
//   TH2  no entry is due before its parent, (i - 1) / 4; an entry's time is never later than when
//        its timer is due.
//   TH3  earliest_ is the time of entry 0, or `never` for an empty heap, whenever no thread holds the
//        lock.
//   TH4  after remove() has returned, the timer's function is not running and will not run.
//
// Why four-ary: half the levels of a binary heap, and of four siblings of 16 bytes three lie in one
// cache line. The due time stands in the entry so that sifting reads no timer. (From Go.) Nor does it write
// one: where an entry stands is kept in a table beside the heap, and not in the timer, which lies in
// a stack that no thread has touched for long. (With 100,000 sleepers each level of a sift missed.)
// A timer is fetched when its entry comes close to the top.
// Functions run without the lock: they lock the object that a waiter waits on, and lock order is
// object before heap, because a waiter arms its timer while it holds its object.
//
// The array comes from pages, not from malloc: timers are armed in sections in which nothing may
// be called that takes a lock a preempted goroutine could hold.
#ifndef THRUM_DETAIL_SCHED_QUEUE_TIMER_HEAP_HPP
#define THRUM_DETAIL_SCHED_QUEUE_TIMER_HEAP_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sched/queue/lock_rank.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

template <class Traits>
class timer_heap;

/// Something that is to happen at a time. Lives inside the object that waits for it; that object
/// calls timer_heap::detach before it goes, unless its memory stays for as long as the heaps do.
template <class Traits>
struct basic_timer {
  template <class T>
  using atomic = typename Traits::template atomic<T>;

  static constexpr std::int64_t idle = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t stopped = idle + 1;
  static constexpr std::int64_t busy = idle + 2;

  /// Runs on whatever M finds the timer due, without any lock, on a stack that must not block. Must
  /// not arm or destroy the timer. `first` is true for the earliest of the timers that were found
  /// due together.
  using function = void (*)(basic_timer&, bool first) noexcept;

  function fire = nullptr;
  /// Called instead of `fire` if the scheduler closes while the timer is armed; may be null.
  void (*discard)(basic_timer&) noexcept = nullptr;
  atomic<std::int64_t> word{idle};
  atomic<std::int64_t> entry_when{0};  // of its entry; written under the heap's lock
  atomic<timer_heap<Traits>*> heap{nullptr};
  std::uint32_t slot = 0;  // in the heap's table, under its lock
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

  /// What the earliest time of a heap has become by add().
  enum class added : std::uint8_t {
    later,      // it is as before
    earliest,   // it is this timer's
    elsewhere,  // it is this timer's, in the other heap where the entry was
  };

  /// Arms a timer that is not armed, here or where it still has an entry, and says whether the
  /// thread that sleeps until the earliest timer must be told: an M looks at the heap of its own P
  /// before it sleeps, but at no other. The timer may fire before this returns.
  added add(timer& t, std::int64_t when) noexcept;

  /// Disarms a timer, whichever heap it stands in, and waits out a function that is running.
  /// True: it had not fired and will not. Takes no lock.
  static bool remove(timer& t) noexcept;

  /// remove(), and no heap refers to the timer any more.
  static bool detach(timer& t) noexcept;

  /// Whether some heap may refer to the timer. Of one that is not armed.
  static bool has_entry(const timer& t) noexcept {
    return t.word.load(acquire) != timer::idle;  // [th.word <] acquire: as in settled
  }

  /// Runs the timers that are due at `now`, the earliest first, at most `most` of them; returns how many.
  std::size_t run_due(std::int64_t now,
                      std::size_t most = std::numeric_limits<std::size_t>::max()) noexcept;

  /// Takes over all timers of another heap. Both must not be used by a lock holder meanwhile.
  void take_all(timer_heap& other) noexcept;

  /// The scheduler closes: empties the heap, discards what is armed, and waits for functions that
  /// run.
  void discard_all() noexcept;

  /// When the first timer is due that is armed, or `never`. Looks at all of them.
  std::int64_t earliest_armed() noexcept;

  /// Timers that are armed.
  std::size_t armed() noexcept;

  /// When the earliest timer is due, or `never`. May be stale at once.
  std::int64_t earliest() const noexcept {
    return earliest_.load(seq_cst);  // [th.earliest =] after dropping the spin; sees: add
  }

  /// Entries, armed or stopped.
  std::size_t size() const noexcept { return size_.peek(); }

 private:
  struct entry {
    std::int64_t when;
    std::uint32_t slot;
  };
  struct slot {
    timer* owner;
    std::uint32_t at;  // where its entry stands; of a free slot, the next free one
  };

  static constexpr std::size_t bytes_each = sizeof(entry) + sizeof(slot);
  static constexpr std::size_t arity = 4;
  static constexpr std::size_t batch = 32;  // due timers taken out in one hold of the lock

  void place(std::size_t i, entry e) noexcept;
  static std::int64_t settled(const timer& t) noexcept;
  std::optional<added> revive_earlier(timer& t, std::int64_t when) const noexcept;
  timer* take_due(std::int64_t now) noexcept;
  void sift_up(std::size_t i) noexcept;
  void sift_down(std::size_t i) noexcept;
  void erase(std::size_t i) noexcept;
  void insert(timer& t, std::int64_t when) noexcept;
  void grow() noexcept;
  void release_pages() noexcept;

  void publish_earliest() noexcept;

  typename Traits::heap_lock lock_{lock_rank::heap};
  entry* entries_ = nullptr;
  slot* slots_ = nullptr;        // behind the entries, as many
  std::uint32_t free_slot_ = 0;  // there is one as long as there is room
  std::size_t capacity_ = 0;
  base::under_lock<std::size_t, typename Traits::template atomic<std::size_t>> size_{0};
  typename Traits::template atomic<std::int64_t> earliest_{never};
  typename Traits::template atomic<std::uint32_t> runners_{0};  // threads inside run_due
};

}}}  // namespace thrum::THRUM_ABI::sched

#if THRUM_TEMPLATE_BODIES
#include <thrum/detail/sched/queue/scoped.hpp>
#include <thrum/detail/sched/queue/timer_heap_order.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Waits while a thread fires, drops or moves the timer; returns the state that it has then.
template <class Traits>
std::int64_t timer_heap<Traits>::settled(const timer& t) noexcept {
  // [th.word <] acquire: what the function did happened before we return (TH4).
  std::int64_t state = t.word.load(acquire);
  for (std::uint32_t turn = 0; state == timer::busy; ++turn) {
    Traits::back_off(turn);
    state = t.word.load(acquire);  // [th.word <] acquire: TH4
  }
  return state;
}

template <class Traits>
typename timer_heap<Traits>::added timer_heap<Traits>::add(timer& t, std::int64_t when) noexcept {
  when = when > 0 ? when : 0;  // what is below has meanings of its own
  for (;;) {
    std::int64_t state = settled(t);
    if (state == timer::idle) {
      scoped guard(lock_);
      // [th.word >] release: what the function, or the thread that stops the timer, will read.
      t.word.store(when, release);
      insert(t, when);
      publish_earliest();
      return entries_[0].slot == t.slot ? added::earliest : added::later;
    }
    // TH2: an entry may be early, not late. relaxed: it changes only while the timer is busy
    if (t.entry_when.load(relaxed) > when) {
      if (const std::optional<added> revived = revive_earlier(t, when)) {
        return *revived;
      }
      // The thread that sleeps until the earliest timer wakes in time as it is.
      // [th.word >] release: what the function will read
      // relaxed: looks at it again
    } else if (t.word.compare_exchange_strong(state, when, release, relaxed)) {
      return added::later;
    }
  }
}

/// For a stopped timer whose entry, in any heap, is later than the new time. No value: the entry
/// has been dropped.
template <class Traits>
auto timer_heap<Traits>::revive_earlier(timer& t, std::int64_t when) const noexcept
    -> std::optional<added> {
  // [th.heap <] acquire: the heap that published itself; sees: insert, take_all
  timer_heap* const heap = t.heap.load(acquire);
  if (heap == nullptr) {
    return std::nullopt;
  }
  scoped guard(heap->lock_);
  std::int64_t state = timer::stopped;
  // relaxed: stable while we hold the heap's lock
  if (t.heap.load(relaxed) != heap ||
      // [th.word >] release: what the function will read.
      // relaxed: the caller starts over
      !t.word.compare_exchange_strong(state, when, release, relaxed)) {
    return std::nullopt;
  }
  const std::uint32_t at = heap->slots_[t.slot].at;
  heap->entries_[at].when = when;
  t.entry_when.store(when, relaxed);  // relaxed: under the lock
  heap->sift_up(at);
  heap->publish_earliest();
  if (heap->entries_[0].slot != t.slot) {
    return added::later;
  }
  return heap == this ? added::earliest : added::elsewhere;
}

template <class Traits>
bool timer_heap<Traits>::remove(timer& t) noexcept {
  std::int64_t state = settled(t);
  while (state > timer::busy) {
    // [th.word <>] acq_rel: the wait's end, before whatever drops the entry; acquire as in settled.
    if (t.word.compare_exchange_strong(state, timer::stopped, acq_rel,
                                       relaxed)) {  // relaxed: looks at it again
      return true;
    }
    state = settled(t);
  }
  return false;
}

template <class Traits>
bool timer_heap<Traits>::detach(timer& t) noexcept {
  const bool removed = remove(t);
  while (settled(t) != timer::idle) {
    // [th.heap <] acquire: as in revive_earlier.
    timer_heap* const heap = t.heap.load(acquire);
    if (heap == nullptr) {
      continue;  // just dropped
    }
    scoped guard(heap->lock_);
    if (t.heap.load(relaxed) == heap) {  // relaxed: stable while we hold the heap's lock
      heap->erase(heap->slots_[t.slot].at);
      heap->publish_earliest();
      t.heap.store(nullptr, relaxed);      // relaxed: published by the state
      t.word.store(timer::idle, release);  // [th.word >] release: the entry is gone
    }
  }
  return removed;
}

/// Takes out one timer that is due, and leaves it busy; null if none is. Drops stopped ones on the
/// way, and moves those that have been armed again for later. Caller holds the lock.
template <class Traits>
typename timer_heap<Traits>::timer* timer_heap<Traits>::take_due(std::int64_t now) noexcept {
  while (size_.get() > 0 && entries_[0].when <= now) {
    timer& t = *slots_[entries_[0].slot].owner;
    std::int64_t state = t.word.load(relaxed);
    // [th.word <] acquire: what the owner wrote for the function, or that it is done with the
    // entry.
    // relaxed: looks at it again
    if (!t.word.compare_exchange_strong(state, timer::busy, acquire, relaxed)) {
      continue;
    }
    if (state > now) {
      // Armed again since, for later. Busy meanwhile: the owner goes by the entry's time.
      entries_[0].when = state;
      t.entry_when.store(state, relaxed);  // relaxed: published by the state
      sift_down(0);
      t.word.store(state, release);  // [th.word >] release: the entry's time
      continue;
    }
    erase(0);
    t.heap.store(nullptr, relaxed);  // relaxed: published by the state
    if (state != timer::stopped) {
      return &t;
    }
    t.word.store(timer::idle, release);  // [th.word >] release: the entry is gone
  }
  return nullptr;
}

template <class Traits>
std::size_t timer_heap<Traits>::run_due(std::int64_t now, std::size_t most) noexcept {
  std::size_t ran = 0;
  while (ran < most && earliest() <= now) {
    const std::size_t wanted = most - ran < batch ? most - ran : batch;
    timer* due[batch];
    std::size_t n = 0;
    {
      scoped guard(lock_);
      while (n < wanted && (due[n] = take_due(now)) != nullptr) {
        ++n;
      }
      runners_.fetch_add(1, relaxed);  // relaxed: published by the lock
      publish_earliest();
    }
    for (std::size_t i = 0; i < n; ++i) {
      timer* t = due[i];
      t->fire(*t, i == 0);
      // [th.word >] release: the function's effects, to add and remove.
      t->word.store(timer::idle, release);
    }
    // [th.run >] release: what the functions did; sees: discard_all
    runners_.fetch_sub(1, release);
    ran += n;
  }
  return ran;
}

template <class Traits>
void timer_heap<Traits>::take_all(timer_heap& other) noexcept {
  const bool is_first = this < &other;  // two of one rank, in the order of their addresses: LR1
  scoped first(is_first ? lock_ : other.lock_);
  scoped second(is_first ? other.lock_ : lock_);
  const std::size_t n = other.size_.get();
  for (std::size_t i = 0; i < n; ++i) {
    insert(*other.slots_[other.entries_[i].slot].owner, other.entries_[i].when);
  }
  while (const std::size_t left = other.size_.get()) {
    other.erase(left - 1);
  }
  other.publish_earliest();
  publish_earliest();
}

template <class Traits>
void timer_heap<Traits>::discard_all() noexcept {
  for (;;) {
    timer* t;
    {
      scoped guard(lock_);
      const std::size_t n = size_.get();
      if (n == 0) {
        publish_earliest();
        break;
      }
      t = slots_[entries_[n - 1].slot].owner;
      erase(n - 1);
      t->heap.store(nullptr, relaxed);  // relaxed: published by the state
    }
    // [th.word <>] acq_rel: as if fired.
    const bool armed = t->word.exchange(timer::idle, acq_rel) > timer::busy;
    if (armed && t->discard != nullptr) {
      t->discard(*t);
    }
  }
  // [th.run <] acquire: what the functions did
  for (std::uint32_t turn = 0; runners_.load(acquire) != 0; ++turn) {
    Traits::back_off(turn);
  }
}

template <class Traits>
std::int64_t timer_heap<Traits>::earliest_armed() noexcept {
  scoped guard(lock_);
  std::int64_t least = never;
  for (std::size_t i = 0; i < size_.get(); ++i) {
    // relaxed: only a snapshot
    const std::int64_t state = slots_[entries_[i].slot].owner->word.load(relaxed);
    if (state > timer::busy && state < least) {
      least = state;
    }
  }
  return least;
}

template <class Traits>
std::size_t timer_heap<Traits>::armed() noexcept {
  scoped guard(lock_);
  std::size_t n = 0;
  for (std::size_t i = 0; i < size_.get(); ++i) {
    // relaxed: only a snapshot
    n += slots_[entries_[i].slot].owner->word.load(relaxed) > timer::busy;
  }
  return n;
}

template <class Traits>
void timer_heap<Traits>::publish_earliest() noexcept {
  const std::size_t n = size_.get();
  // [th.earliest =] seq_cst: an M that gives up its P first counts itself out and then reads
  // this; a thread that adds a timer first writes this and then looks for such an M.
  earliest_.exchange(n == 0 ? never : entries_[0].when, seq_cst);  // TH3
}

}}}  // namespace thrum::THRUM_ABI::sched
#endif

#endif
