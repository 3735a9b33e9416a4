// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The run queue of one P: a ring of runnable Gs and, before it, the one slot runnext.
//
// Purpose
//   The P's owner (the M that holds the P) adds and takes Gs without a lock; other Ms that have
//   nothing to do steal half of the ring. FIFO, so that no G is overtaken for ever.
//
// Terms
//   owner     the M that holds the P. Ownership passes between Ms under the scheduler's lock or by
//             an acquire/release hand-over; this file relies on that for every "owner only".
//   thief     any other thread that calls steal_half_into() on this queue. It owns its own queue.
//   consumer  what advances head_: the owner in pop(), push() when full, drain(); a thief.
//   runnext   the G that the running G made ready last. It runs next and inherits the time slice,
//             so that two Gs that talk to each other are one unit for the scheduler.
//
// State
//   head_     index of the oldest entry. Only ever advanced, by CAS, by any consumer.
//   tail_     index behind the newest entry. Only ever advanced, by plain store, by the owner.
//   slots_    slot i & mask holds the entry with index i, for head_ <= i < tail_. Written by the
//             owner alone. Other slots hold stale pointers that must not be followed.
//   runnext_  nullptr or a G. Only the owner makes it non-null; any thread may make it null.
//   Indices are 32 bits and wrap; differences are what counts.
//
// Invariants
//   RQ1  The capacity is a power of two, so a wrapped index still names the right slot.
//   RQ2  tail_ - head_ <= capacity, as the owner sees it. A thief, which reads the two one after
//        the other, may see more; then what it saw belongs to different moments.
//   RQ3  A slot is overwritten only after every successful consumer of its old entry has finished
//        reading it (head_'s release and the owner's acquire of head_).
//   RQ4  An entry belongs to the one consumer whose CAS moved head_ across it, and to no thread
//        before: until then the pointer is a copy, and T must not be touched, not even queue_next.
//   RQ5  A G is in one queue at a time. So runnext_ cannot go A, nullptr, A while a thread relies
//        on A being the same stay: taking A by CAS is right also if A came back in between.
//   RQ6  A thief has room for what it takes: it never takes more than its ring can hold plus the
//        one G that it runs at once.
//
// The two sides
//   owner, push              thief, steal_half_into
//   1 load head_  (acquire)  1 load head_  (acquire)   the order of 1 and 2 matters: tail_ is
//   2 store slot             2 load tail_  (acquire)   never older than head_
//   3 store tail_ (release)  3 load slots, copy them into the own ring, unpublished
//                            4 CAS head_   (release)   success: the copies are valid and ours
//                            5 store own tail_ (release)
//   If head_ still has the value of step 1 at step 4 then it had it all the time in between, for it
//   never goes back; so no slot of the range was given back, and none was overwritten (RQ3). If it
//   has not, the copies may be garbage and are dropped.
//
// empty() cannot be wrong in the dangerous direction
//   The recheck of a parking M asks it, and a false "empty" would be a lost wake-up. Reading the
//   ring and then runnext is not enough: between the two the owner may move the G of runnext to the
//   ring and run the new one. So tail_ is read again at the end. Unchanged, it says that nothing
//   was added in between, so the ring, once empty, was still empty when runnext was read. (A G that
//   the owner holds in its hand between exchange_runnext() and push() is in no queue; that owner is
//   awake and announces the G after the push.)
//
// Cost (locked instructions on x86)
//   push 0, pop 1, push_batch 0, exchange_runnext 1, take_runnext 0 when empty, else 1,
//   drain 1 or 2, overflow 1 for half a ring, steal 1 for half a ring.
//
// Tried and rejected
//   A Chase-Lev deque: its owner end is LIFO, which starves; its FIFO end costs the same CAS.
//   CAS in take_runnext(): only the owner writes a G there, so an exchange is as good, and on the
//   reference machine 4.9 ns against 8.8.
//   Copying the overflowing half to a buffer before the CAS: only the owner writes slots, so the
//   owner may read them after the CAS just as well.
//   A steal that aborts when the thief's ring has no room: taking less (RQ6) is as simple.
//
// Sources
//   Go's runtime, proc.go: runqput, runqputslow, runqget, runqgrab, runqsteal, runqempty. The ring
//   follows Go's; the orders are those that its port to weaker machines established.
//
// Checked by
//   tests/unit/sched/queue/run_queue_test.cpp, tests/go/proc_queue_test.cpp, and exhaustively, with
//   a ring of 4 and all interleavings within a bound, tests/model/run_queue_model.cpp.

#ifndef THRUM_DETAIL_SCHED_QUEUE_RUN_QUEUE_HPP
#define THRUM_DETAIL_SCHED_QUEUE_RUN_QUEUE_HPP

#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

/// The ring and runnext of one P. `T` is intrusive: it has a public member `T* queue_next`.
///
/// `Traits` supplies `run_queue_capacity` (a power of two) and `template <class U> atomic`.
/// Not movable: thieves know its address. It owns no G; a queue with entries may be destroyed.
template <class T, class Traits>
class run_queue {
 public:
  static constexpr std::uint32_t capacity = Traits::run_queue_capacity;

  run_queue() noexcept = default;

  /// An empty queue whose indices start at `first_index`: a test starts shortly before the wrap.
  explicit run_queue(std::uint32_t first_index) noexcept : head_(first_index), tail_(first_index) {}

  run_queue(const run_queue&) = delete;
  run_queue& operator=(const run_queue&) = delete;

  // ---- owner only ------------------------------------------------------------------------------

  /// Adds `g` at the tail. Returns an empty queue, or, when the ring was full, its older half and
  /// then `g`, oldest first, for the caller to append to the global queue. Never blocks.
  [[nodiscard]] base::intrusive_queue<T> push(T* g) noexcept;

  /// Adds `g` at the tail. False, and nothing has happened: the ring is full.
  [[nodiscard]] bool try_push(T* g) noexcept;

  /// Moves entries from the front of `batch` to the tail, as many as fit; the rest stays there.
  void push_batch(base::intrusive_queue<T>& batch) noexcept;

  /// Takes the oldest entry of the ring, or nullptr.
  [[nodiscard]] T* pop() noexcept;

  /// Makes `g` the runnext; returns the one before, or nullptr. The caller pushes it to the ring.
  [[nodiscard]] T* exchange_runnext(T* g) noexcept;

  /// Takes the runnext, or nullptr.
  [[nodiscard]] T* take_runnext() noexcept;

  /// Takes everything: the ring in order, then runnext. For a P that retires.
  [[nodiscard]] base::intrusive_queue<T> drain() noexcept;

  /// Whether the next entry goes to slot 0: once in as many as the ring has room for.
  [[nodiscard]] bool begins_anew() const noexcept { return (tail_.get() & mask) == 0; }

  /// Entries in the ring: an upper bound, exact when no thief is at work.
  [[nodiscard]] std::uint32_t ring_size() const noexcept;

  // ---- any thread ------------------------------------------------------------------------------

  /// Takes the older half of this ring, rounded up, for the owner of `thief`: returns the newest of
  /// it, to be run at once, and publishes the others in `thief`'s ring. When the ring is empty, takes
  /// runnext instead if there is one and then `may_take_runnext()` is true; that may pause, as a P
  /// that runs most likely wants its runnext within the next microsecond. Returns nullptr when there
  /// was nothing. Called by the owner of `thief`; `this` is another queue. Lock-free: it starts again
  /// only when another thread got on.
  template <class May>
  [[nodiscard]] T* steal_half_into(run_queue& thief, May may_take_runnext) noexcept;

  /// Whether the ring and runnext were both empty at one moment during the call. Never true when
  /// the queue held something all the time.
  [[nodiscard]] bool empty() const noexcept;

  /// Entries in the ring, without runnext, at about this time. For statistics and heuristics.
  [[nodiscard]] std::uint32_t size() const noexcept;

  /// The runnext at about this time; not to be followed, unless the caller keeps the G alive
  /// otherwise.
  [[nodiscard]] T* peek_runnext() const noexcept;

 private:
  template <class U>
  using atomic = typename Traits::template atomic<U>;
  template <class U>
  using one_writer = base::one_writer<U, atomic<U>>;

  static constexpr std::uint32_t mask = capacity - 1;
  static_assert(capacity >= 2 && (capacity & mask) == 0, "RQ1: a power of two");

  atomic<T*>& slot(std::uint32_t index) noexcept { return slots_[index & mask]; }
  THRUM_COLD base::intrusive_queue<T> push_slow(T* g) noexcept;
  base::intrusive_queue<T> unlink(std::uint32_t first, std::uint32_t count) noexcept;

  // Consumers: the owner's pop and every thief.
  alignas(base::cache_line_size) atomic<std::uint32_t> head_{0};

  // The owner; others read. Both words are written at each hand-over, so they share a line.
  alignas(base::cache_line_size) one_writer<std::uint32_t> tail_{0};
  atomic<T*> runnext_{nullptr};

  // The owner writes, thieves read what tail_ published.
  alignas(base::cache_line_size) atomic<T*> slots_[capacity]{};
};

// ---- the owner's side ---------------------------------------------------------------------------

template <class T, class Traits>
THRUM_INLINE bool run_queue<T, Traits>::try_push(T* g) noexcept {
  const std::uint32_t head = head_.load(acquire);  // [rq.2 <] slot given back; sees: consumers
  const std::uint32_t tail = tail_.get();
  THRUM_ASSERT(RQ2, tail - head <= capacity);
  if (tail - head == capacity) [[unlikely]] {
    return false;
  }
  slot(tail).store(g, relaxed);    // relaxed: published by tail_
  tail_.store(tail + 1, release);  // [rq.1 >] publishes the slot and *g; sees: thieves, empty
  return true;
}

template <class T, class Traits>
base::intrusive_queue<T> run_queue<T, Traits>::push(T* g) noexcept {
  if (try_push(g)) [[likely]] {
    return {};
  }
  return push_slow(g);
}

template <class T, class Traits>
base::intrusive_queue<T> run_queue<T, Traits>::push_slow(T* g) noexcept {
  constexpr std::uint32_t half = capacity / 2;
  const std::uint32_t tail = tail_.get();
  std::uint32_t head = head_.load(acquire);  // [rq.2 <] slot given back; sees: consumers
  while (tail - head == capacity) {
    // [rq.2 >] gives `half` slots back; sees: push, push_batch. Failure: a thief made room
    // meanwhile.
    if (head_.compare_exchange_weak(head, head + half, release, acquire)) {
      base::intrusive_queue<T> overflow = unlink(head, half);
      overflow.push_back(g);
      return overflow;
    }
  }
  slot(tail).store(g, relaxed);    // relaxed: published by tail_
  tail_.store(tail + 1, release);  // [rq.1 >] publishes the slot and *g; sees: thieves, empty
  return {};
}

// Links entries that the owner has just consumed. The slots still hold them: only the owner, which
// is here, overwrites slots.
template <class T, class Traits>
base::intrusive_queue<T> run_queue<T, Traits>::unlink(std::uint32_t first,
                                                      std::uint32_t count) noexcept {
  base::intrusive_queue<T> taken;
  for (std::uint32_t i = 0; i != count; ++i) {
    taken.push_back(slot(first + i).load(relaxed));  // relaxed: the owner wrote it
  }
  return taken;
}

template <class T, class Traits>
void run_queue<T, Traits>::push_batch(base::intrusive_queue<T>& batch) noexcept {
  const std::uint32_t head = head_.load(acquire);  // [rq.2 <] slot given back; sees: consumers
  const std::uint32_t tail = tail_.get();
  THRUM_ASSERT(RQ2, tail - head <= capacity);
  std::uint32_t next = tail;
  while (next - head != capacity && !batch.empty()) {
    slot(next).store(batch.pop_front(), relaxed);  // relaxed: published by tail_
    ++next;
  }
  if (next != tail) {
    tail_.store(next, release);  // [rq.1 >] publishes the slots and what they name; sees: thieves
  }
}

template <class T, class Traits>
THRUM_INLINE T* run_queue<T, Traits>::pop() noexcept {
  const std::uint32_t tail = tail_.get();
  // [rq.2 <] as every load of head_; sees: consumers
  std::uint32_t head = head_.load(acquire);
  while (head != tail) {
    THRUM_ASSERT(RQ2, tail - head <= capacity);
    T* const g = slot(head).load(relaxed);  // relaxed: the owner wrote it
    // [rq.2 >] the slot is read; sees: push. Failure: a thief was faster.
    if (head_.compare_exchange_weak(head, head + 1, release, acquire)) [[likely]] {
      return g;
    }
  }
  return nullptr;
}

template <class T, class Traits>
THRUM_INLINE T* run_queue<T, Traits>::exchange_runnext(T* g) noexcept {
  // [rq.3 >, id.spin =] publishes *g; sees: steal_half_into. seq_cst: the owner's first step to
  // announce g.
  return runnext_.exchange(g, seq_cst);
}

template <class T, class Traits>
THRUM_INLINE T* run_queue<T, Traits>::take_runnext() noexcept {
  if (runnext_.load(relaxed) == nullptr) {  // relaxed: only the owner makes it non-null
    return nullptr;
  }
  // [rq.4 <>] null shows what the owner pushed before; sees: empty. Null: a thief took it.
  return runnext_.exchange(nullptr, acq_rel);
}

template <class T, class Traits>
base::intrusive_queue<T> run_queue<T, Traits>::drain() noexcept {
  const std::uint32_t tail = tail_.get();
  // [rq.2 <] as every load of head_; sees: consumers
  std::uint32_t head = head_.load(acquire);
  base::intrusive_queue<T> taken;
  while (head != tail) {
    // [rq.2 >] gives all slots back; sees: push. Failure: a thief took some meanwhile.
    if (head_.compare_exchange_weak(head, tail, release, acquire)) {
      taken = unlink(head, tail - head);
      break;
    }
  }
  if (T* const next = take_runnext()) {
    taken.push_back(next);
  }
  return taken;
}

template <class T, class Traits>
std::uint32_t run_queue<T, Traits>::ring_size() const noexcept {
  const std::uint32_t tail = tail_.get();
  // [rq.2 <] as every load of head_; sees: consumers
  return tail - head_.load(acquire);
}

// ---- any thread's side --------------------------------------------------------------------------

template <class T, class Traits>
template <class May>
T* run_queue<T, Traits>::steal_half_into(run_queue& thief, May may_take_runnext) noexcept {
  const std::uint32_t thief_tail = thief.tail_.get();
  // [rq.2 <] the thief's slots are given back (RQ3); sees: consumers
  const std::uint32_t room = capacity - (thief_tail - thief.head_.load(acquire));
  for (;;) {
    std::uint32_t head = head_.load(acquire);        // [rq.2 <] before tail_; sees: consumers
    const std::uint32_t tail = tail_.load(acquire);  // [rq.1 <] slots are filled; sees: push
    std::uint32_t count = (tail - head) - (tail - head) / 2;
    if (count == 0) {
      T* next = runnext_.load(relaxed);
      if (next == nullptr || !may_take_runnext()) {
        return nullptr;
      }
      // [rq.3 <, rq.4 <>] acquires *next from exchange_runnext; and, as in take_runnext, null also
      // shows what was pushed before; sees: empty. RQ5: it may have come back meanwhile.
      // relaxed: the victim ran it; look again
      if (runnext_.compare_exchange_strong(next, nullptr, acq_rel, relaxed)) {
        return next;
      }
      continue;
    }
    if (count > capacity / 2) {
      continue;  // head and tail of different moments (RQ2)
    }
    if (count > room + 1) {
      count = room + 1;  // RQ6
    }
    for (std::uint32_t i = 0; i != count - 1; ++i) {
      T* const copy = slot(head + i).load(relaxed);     // relaxed: the CAS validates it
      thief.slot(thief_tail + i).store(copy, relaxed);  // relaxed: published by thief.tail_
    }
    T* const last = slot(head + count - 1).load(relaxed);  // relaxed: published by push
    // [rq.2 >] the slots are read; sees: push. relaxed: another consumer was faster, the copies
    // are void
    if (!head_.compare_exchange_strong(head, head + count, release, relaxed)) {
      continue;
    }
    if (count > 1) {
      thief.tail_.store(thief_tail + count - 1, release);  // [rq.1 >] publishes; sees: thieves
    }
    return last;
  }
}

template <class T, class Traits>
bool run_queue<T, Traits>::empty() const noexcept {
  for (;;) {
    const std::uint32_t head = head_.load(acquire);  // [rq.2 <] before tail_; sees: consumers
    const std::uint32_t tail = tail_.load(acquire);  // [rq.1 <] before runnext_; sees: push
    const T* const next = runnext_.load(acquire);    // [rq.4 <] before tail_; sees: take_runnext
    if (tail == tail_.load(relaxed)) {  // relaxed: ordered behind runnext_ by that load's acquire
      return head == tail && next == nullptr;
    }
  }
}

template <class T, class Traits>
std::uint32_t run_queue<T, Traits>::size() const noexcept {
  const std::uint32_t head = head_.load(acquire);  // [rq.2 <] before tail_; sees: consumers
  const std::uint32_t tail = tail_.peek();
  const std::uint32_t count = tail - head;
  return count <= capacity ? count : capacity;  // the two may be of different moments (RQ2)
}

template <class T, class Traits>
T* run_queue<T, Traits>::peek_runnext() const noexcept {
  return runnext_.load(relaxed);  // relaxed: a guess is enough; the G is only ever taken by an RMW
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif  // THRUM_DETAIL_SCHED_QUEUE_RUN_QUEUE_HPP
