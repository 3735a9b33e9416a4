// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a goroutine has forked and not yet begun, where others may take it.
//
// Purpose
//   fork_join runs one half of its work at once and leaves the other half here. Most of the time
//   no thief comes, and the goroutine takes it back a few instructions later; so adding and taking
//   back cost as little as possible, and what is rare, being robbed, pays.
//
// Terms
//   owner   the goroutine. The deque goes with it from thread to thread; it does not know Ps.
//   thief   any other thread. It holds the lock of the list that the deque is in.
//   list    the deques of the goroutines that began to fork on one P, wherever they are now. A
//           deque lies on its owner's stack, and is in its list as long as it lives there.
//   aside   in the list, but not among those that a thief looks at: see "Many that have nothing".
//
// State
//   head_   index of the oldest entry. Written by thieves.
//   tail_   index behind the newest. Written by the owner, up and down.
//   slots_  slot i & mask holds entry i for head_ <= i < tail_. Written by the owner.
//   Indices are 32 bits and wrap; differences, signed, are what counts.
//
// Invariants
//   FD1  the owner takes back what it has added last: a stack. So if that one was stolen, so were
//        all before it, as thieves take the oldest: the deque is empty then.
//   FD2  head_ is one too high at most, and only while its writer holds the lock.
//   FD3  the owner leaves one slot free: the one whose entry a thief has just claimed is not
//        written again before the lock has changed hands, and by then the entry was read.
//   FD4  a deque leaves its list empty.
//   FD5  a deque that is aside has no entry, or its owner is about to see that it is aside, and lists it
//        again before it does anything else.
//
// The two sides, of which at least one sees the other when both want the last entry
//   owner, pop                             thief, steal, with the lock
//   1 exchange tail_ for tail - 1          1 exchange head_ for head + 1
//   2 read head_; not beyond: it is ours   2 read tail_; not below: it is ours, read the slot
//   3 else lock: if head_ is still         3 else, or if it is not wanted, head_ = head
//     beyond, it was stolen
//   1 and 2 are sequentially consistent on both sides; 1 is an exchange and not a store for the reason
//   that base/order.hpp gives. The owner may push again after its 2, into
//   the slot that a thief is about to claim: then the thief gets the new entry, and the owner's
//   next pop sees that, for its step 1 comes after the push in the order that the thief's step 2 is
//   in.
//
// Many that have nothing
//   Goroutines that are parked inside of a fork may be very many, and most have nothing to give: looking
//   for work must not mean a look at each. So a thread that walks a list counts those that had none. When
//   they are as many as cost what a heavy fence costs, it puts all of them aside. The owner may push at
//   the same moment, hence the fence: the walker says "aside", makes every thread pass a fence, and
//   looks for an entry once more; the owner pushes, and looks whether it is aside. At least one sees the
//   other; the owner's side costs a load. So a walk is paid for by the forks that
//   were made since the last one. Where the system has no fence for all threads, each push has one of its
//   own.
//
// Rejected
//   A count of deques with an entry: owners would write to a line that all share at each fork.
//   The owner's step 1 as a plain store behind a light fence, a thief's with a heavy one (tried: a fork
//   in 4 ns less): a membarrier for each theft interrupts every thread of the process, and short loops
//   on many processors are stolen often.
//   Entries private to the owner until a thief asks for one (private deques, lazy task creation):
//   no fence at all, but a thief gets nothing while the owner computes, or is parked.
//   A deque for each P: a goroutine changes its P in the middle of a fork.
//   Thieves without a lock (Chase and Lev): the deque would have to outlive its owner's stack frame,
//   and an owner that finds one entry left would pay for a locked instruction more. Thieves of one
//   P's list take turns; they come at random to one list among many, and few find anything.
//
// Sources
//   The protocol is Cilk-5's (Frigo, Leiserson and Randall, 1998: "THE"), with sequentially
//   consistent accesses for its fences, a ring, and a lock for many deques.
//
// Fences of [fd.aside]: is_aside, put_aside_locked.
//
// Checked by
//   tests/unit/sched/fork/fork_deque_test.cpp, and exhaustively, with a ring of 4,
//   tests/model/fork_deque_model.cpp.
#ifndef THRUM_DETAIL_SCHED_FORK_FORK_DEQUE_HPP
#define THRUM_DETAIL_SCHED_FORK_FORK_DEQUE_HPP

#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sched/queue/lock_rank.hpp>
#include <thrum/detail/sched/queue/scoped.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

template <class T, class Traits>
class fork_list;

/// The entries of one goroutine, newest last. `Traits` supplies `fork_capacity`, a power of two,
/// `fork_credit`, `fork_walk`, `heap_lock`, `light_fence()` and `heavy_fence()`, and
/// `template <class U> atomic`. It owns no T.
template <class T, class Traits>
class fork_deque : public base::list_node<fork_deque<T, Traits>> {
 public:
  static constexpr std::uint32_t capacity = Traits::fork_capacity;

  /// `stack_class` is what a thief must have: its owner's. A test starts `first_index` shortly before the
  /// wrap.
  explicit fork_deque(fork_list<T, Traits>& home, std::uint8_t stack_class = 0,
                      std::uint32_t first_index = 0) noexcept
      : home_(home), stack_class_(stack_class), head_(first_index), tail_(first_index) {}
  fork_deque(const fork_deque&) = delete;
  fork_deque& operator=(const fork_deque&) = delete;

  /// The list that it is in, or is to be.
  fork_list<T, Traits>& home() const noexcept { return home_; }

  // ---- owner only ----

  /// Adds an entry; false if there is no room. Then asks is_aside().
  [[nodiscard]] bool push(T& entry) noexcept;

  /// After push: whether no thief will look here before home().list_again().
  bool is_aside() const noexcept {
    Traits::light_fence();        // [fd.aside =] tail_ before aside_; pairs with put_aside_locked
    return aside_.load(relaxed);  // relaxed: ordered by the fence of [fd.aside]
  }

  /// Takes the newest entry back. False: it may have been stolen; only pop_slow knows.
  [[nodiscard]] bool pop() noexcept;

  /// After pop: whether the entry is the owner's after all. Takes the list's lock.
  [[nodiscard]] bool pop_slow() noexcept;

  /// Says that the owner gets on though it adds and takes back nothing: see fork_list::first.
  void go_on() noexcept { turns_.set(turns_.get() + 1); }

  /// Whether a thief would find nothing, at about this time.
  bool is_drained() const noexcept {
    // A theft that is missed is seen the next time
    return static_cast<std::int32_t>(tail_.get() - head_.peek()) <= 0;
  }

  // ---- with the lock of the list ----

  /// Takes the oldest entry, or nullptr. It stays where `is_wanted()` is false; that is asked when the
  /// thief has claimed it, and sees what its owner had done when it added that entry.
  template <class Wanted>
  [[nodiscard]] T* steal_locked(Wanted is_wanted) noexcept;
  [[nodiscard]] T* steal_locked() noexcept {
    return steal_locked([]() noexcept { return true; });
  }

  /// Whether there is an entry, at about this time.
  bool has_entry_locked() const noexcept {
    // A hint, or ordered by how the caller came to ask. head_ changes under the lock.
    return static_cast<std::int32_t>(tail_.peek() - head_.peek()) > 0;
  }

 private:
  template <class U>
  using atomic = typename Traits::template atomic<U>;
  template <class U>
  using one_writer = base::one_writer<U, atomic<U>>;
  template <class U>
  using under_lock = base::under_lock<U, atomic<U>>;
  template <class U>
  using hint = base::hint<U, atomic<U>>;

  static constexpr std::uint32_t mask = capacity - 1;
  static_assert(capacity >= 2 && (capacity & mask) == 0, "a power of two");

  friend class fork_list<T, Traits>;

  fork_list<T, Traits>& home_;
  const std::uint8_t stack_class_;

  // Thieves; the owner reads.
  alignas(base::cache_line_size) under_lock<std::uint32_t> head_{0};

  // The owner; thieves read.
  alignas(base::cache_line_size) one_writer<std::uint32_t> tail_{0};
  atomic<bool> aside_{false};  // written with the lock of the list
  base::one_writer<std::uint32_t> turns_{0};
  one_writer<T*> slots_[capacity];
};

/// The deques of the goroutines that began to fork on one P.
template <class T, class Traits>
class fork_list {
 public:
  using deque = fork_deque<T, Traits>;
  using lock_type = typename Traits::heap_lock;

  fork_list() noexcept = default;
  fork_list(const fork_list&) = delete;
  fork_list& operator=(const fork_list&) = delete;

  lock_type& lock() noexcept { return lock_; }

  void add(deque& one) noexcept {
    const scoped guard(lock_);
    deques_.push_back(one);
    count_locked(1);
    ++of_class_[one.stack_class_];
    if (one.stack_class_ > largest_class()) {
      largest_class_.set(one.stack_class_);
    }
  }
  void remove(deque& one) noexcept {
    const scoped guard(lock_);
    THRUM_ASSERT(FD4, !one.has_entry_locked());
    if (one.aside_.load(relaxed)) {  // relaxed: under the lock
      aside_.remove(one);
    } else {
      deques_.remove(one);
      count_locked(-1);
    }
    std::uint8_t largest = largest_class();
    if (--of_class_[one.stack_class_] == 0 && one.stack_class_ == largest) {
      while (largest != 0 && of_class_[largest] == 0) {
        --largest;
      }
      largest_class_.set(largest);
    }
  }

  /// Lists a deque again that is aside; its owner calls this when it has pushed (FD5).
  void list_again(deque& one) noexcept {
    const scoped guard(lock_);
    if (one.aside_.load(relaxed)) {  // relaxed: under the lock
      aside_.remove(one);
      list_locked(one);
      count_locked(1);
    }
  }

  /// The largest class of stacks among the owners; 0 if there are none. Exact under the lock.
  std::uint8_t largest_class() const noexcept { return largest_class_.get(); }

  /// Takes the oldest entry of one of the deques. Calls taken(entry) before the entry's owner, or a caller of
  /// has_work(), can learn that it is gone. Null: there is none, or may_take() is false; may_take() is called
  /// under the lock.
  template <class May, class F>
  T* steal(May may_take, F taken) noexcept {
    if (is_empty()) {
      return nullptr;
    }
    const scoped guard(lock_);
    if (!may_take()) {
      return nullptr;
    }
    T* entry = nullptr;
    walk_locked([&](deque& one) noexcept {
      entry = one.steal_locked();
      if (entry != nullptr) {
        taken(*entry);  // here: the walk may end with the list being empty
      }
      return entry != nullptr;
    });
    if (entry != nullptr) {
      refill_credit();
    }
    return entry;
  }
  template <class F>
  T* steal(F taken) noexcept {
    return steal([]() noexcept { return true; }, taken);
  }

  /// Whether there is an entry. Never false when one has been there since before the caller got hold
  /// of what it holds now, a P or a lock. False for one that was stolen: the caller sees what taken() did.
  bool has_work() noexcept {
    if (is_empty()) {
      return false;
    }
    const scoped guard(lock_);
    return walk_locked([](const deque& one) noexcept { return one.has_entry_locked(); });
  }

  /// What stands first: equal to another answer, but for chance, if the owner of that deque has not got on
  /// in between. 0: there is nothing.
  std::uint64_t first() noexcept {
    std::uint64_t seen = 0;
    if (!is_empty()) {
      const scoped guard(lock_);
      walk_locked([&](const deque& one) noexcept {
        if (one.has_entry_locked()) {
          // head_ changes under the lock
          const std::uint64_t entries = std::uint64_t{one.tail_.peek()} << 32 | one.head_.peek();
          const std::uint64_t all = entries + one.turns_.peek();
          seen = (reinterpret_cast<std::uintptr_t>(&one) ^ all * 0x9E3779B97F4A7C15U) | 1U;
        }
        return seen != 0;
      });
    }
    return seen;
  }

  /// How many deques the next walk looks at, at most. For reports by other threads.
  std::uint32_t listed() const noexcept { return size_.peek(); }

  /// May an idle P be woken for an entry? A wake costs as much as a thousand forks, and is wasted if the
  /// owner takes the entry back before a thief comes. So each wake costs a credit; a theft restores all
  /// credits, and so does the monitor when an entry waits for long.
  bool spend_credit() noexcept {
    const std::uint32_t left = credit_.get();
    if (left != 0) {
      credit_.set(left - 1);
    }
    return left != 0;
  }
  void refill_credit() noexcept { credit_.set(Traits::fork_credit); }

 private:
  template <class U>
  using atomic = typename Traits::template atomic<U>;
  template <class U>
  using one_writer = base::one_writer<U, atomic<U>>;
  template <class U>
  using under_lock = base::under_lock<U, atomic<U>>;
  template <class U>
  using hint = base::hint<U, atomic<U>>;

  static constexpr std::size_t classes = 32;  // log2 of bytes

  bool is_empty() const noexcept {
    // [fl.size <] acquire: what was done with a half that is gone; pairs with count_locked
    return size_.load(acquire) == 0;
  }
  void count_locked(int more) noexcept {
    const std::uint32_t n = size_.get() + static_cast<std::uint32_t>(more);
    size_.store(n, release);  // [fl.size >] release: what taken() has done; sees: is_empty
  }
  void list_locked(deque& one) noexcept {
    // relaxed: an owner that still sees true calls list_again, which looks under the lock
    one.aside_.store(false, relaxed);
    deques_.push_back(one);
  }

  /// The first for which found(one).
  template <class F>
  bool walk_locked(F found) noexcept {
    bool is_found = false;
    for (deque* one = deques_.front(); one != nullptr && !is_found; one = deques_.next(*one)) {
      is_found = found(*one);
      passed_ += is_found ? 0 : 1;
    }
    if (passed_ >= Traits::fork_walk) [[unlikely]] {
      put_aside_locked();
    }
    return is_found;
  }

  /// FD5. size_ does not say that there is nothing before all have been looked at twice.
  THRUM_COLD void put_aside_locked() noexcept {
    passed_ = 0;
    base::intrusive_list<deque> drained;
    for (deque *one = deques_.front(), *after = nullptr; one != nullptr; one = after) {
      after = deques_.next(*one);
      if (!one->has_entry_locked()) {
        deques_.remove(*one);
        drained.push_back(*one);
        one->aside_.store(true, relaxed);  // relaxed: ordered by the fence of [fd.aside]
      }
    }
    Traits::heavy_fence();  // [fd.aside =] aside_ before tail_; pairs with is_aside
    while (deque* const one = drained.pop_front()) {
      if (one->has_entry_locked()) {
        list_locked(*one);
      } else {
        aside_.push_back(*one);
        count_locked(-1);
      }
    }
  }

  alignas(base::cache_line_size) lock_type lock_{lock_rank::forks};
  under_lock<std::uint32_t> size_{0};  // of deques_
  base::hint<std::uint32_t> credit_{Traits::fork_credit};
  base::under_lock<std::uint8_t> largest_class_{0};
  std::uint32_t passed_ = 0;  // that had no entry, since some were put aside
  base::intrusive_list<deque> deques_;
  base::intrusive_list<deque> aside_;
  std::uint32_t of_class_[classes] = {};  // owners
};

// ---- the owner's side ---------------------------------------------------------------------------

template <class T, class Traits>
THRUM_INLINE bool fork_deque<T, Traits>::push(T& entry) noexcept {
  const std::uint32_t tail = tail_.get();
  const std::uint32_t head = head_.load(acquire);  // [fd.slot <] FD3, entries before it are read
  if (static_cast<std::int32_t>(tail - head) >= static_cast<std::int32_t>(capacity - 1))
      [[unlikely]] {
    return false;
  }
  slots_[tail & mask].set(&entry);
  tail_.store(tail + 1, release);  // [fd.entry >] the slot and *entry; sees: steal
  return true;
}

template <class T, class Traits>
THRUM_INLINE bool fork_deque<T, Traits>::pop() noexcept {
  const std::uint32_t tail = tail_.get() - 1;
  tail_.exchange(tail, seq_cst);  // [fd.last =] before head_ is read
  // [fd.last =] after the store to tail_
  return static_cast<std::int32_t>(tail - head_.load(seq_cst)) >= 0;
}

template <class T, class Traits>
bool fork_deque<T, Traits>::pop_slow() noexcept {
  const scoped guard(home_.lock());
  const std::uint32_t tail = tail_.get();
  const std::uint32_t head = head_.get();
  if (static_cast<std::int32_t>(tail - head) >= 0) {
    return true;
  }
  THRUM_ASSERT(FD1, head == tail + 1);
  tail_.store(head, relaxed);  // relaxed: thieves look at it under the lock
  return false;
}

// ---- a thief's side -----------------------------------------------------------------------------

template <class T, class Traits>
template <class Wanted>
T* fork_deque<T, Traits>::steal_locked(Wanted is_wanted) noexcept {
  const std::uint32_t head = head_.get();
  if (static_cast<std::int32_t>(tail_.load(relaxed) - head) <=
      0) {  // relaxed: looked at again below
    return nullptr;
  }
  head_.exchange(head + 1, seq_cst);  // [fd.slot >, fd.last =] FD2, before tail_ is read
  // [fd.entry <, fd.last =] the slot and its entry; after the store to head_
  if (static_cast<std::int32_t>(tail_.load(seq_cst) - head) <= 0 || !is_wanted()) {
    head_.store(head, release);  // [fd.slot >] as what it replaces
    return nullptr;
  }
  return slots_[head & mask].get();
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
