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
//   TH3  earliest_ is the time of entry 0, or `never` for an empty heap, whenever nobody holds the
//        lock.
//   TH4  after remove() has returned, the timer's function is not running and will not run.
//
// Why four-ary: half the levels of a binary heap, and four siblings of 16 bytes lie in one cache
// line. The due time stands in the entry so that sifting reads no timer. (From Go.) Nor does it write
// one: where an entry stands is kept in a table beside the heap, and not in the timer, which lies in
// a stack that nobody has touched for long. (With 100,000 sleepers each level of a sift was a miss.)
// A timer is fetched when its entry comes close to the top.
// Functions run without the lock: they lock the object that somebody waits on, and lock order is
// object before heap, because a waiter arms its timer while it holds its object.
//
// The array comes from pages, not from malloc: timers are armed in sections in which nothing may
// be called that takes a lock a preempted goroutine could hold.
#ifndef THRUM_SCHED_QUEUE_TIMER_HEAP_HPP
#define THRUM_SCHED_QUEUE_TIMER_HEAP_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/sched/queue/lock_rank.hpp>

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

  /// Runs every timer that is due at `now`; returns how many.
  std::size_t run_due(std::int64_t now) noexcept;

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
  std::size_t size() const noexcept {
    return size_.load(relaxed);  // relaxed: a hint for thieves
  }

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
  typename Traits::template atomic<std::size_t> size_{0};
  typename Traits::template atomic<std::int64_t> earliest_{never};
  typename Traits::template atomic<std::uint32_t> runners_{0};  // threads inside run_due
};

}}}  // namespace thrum::THRUM_ABI::sched

#if !THRUM_SEPARATE
#include <thrum/sched/queue/timer_heap_definition.hpp>
#endif

#endif
