// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How one of several channel operations is chosen, whatever the types of their elements.
//
// Purpose
//   run_select() carries out exactly one of some operations on channels; it waits if none can be
//   carried out now.
//
// The steps (Go's)
//   L1  lock all channels, by address, each once. So the engine sees one moment: it does not miss an
//       element that moves from one of its channels to another meanwhile. (Before it comes to that,
//       select() tries up to two channels one by one: what is ready may be taken without a look at the rest,
//       and to find nothing there decides nothing.)
//   L2  count those that are ready; carry out one of them, each with the same probability; unlock.
//       None, and the caller does not want to wait: unlock.
//   L3  link a wait point on each channel, all of one selection; park; unlock all.
//   L4  woken: the side that woke us has won the selection and has moved the element. Lock each
//       channel once more, one at a time, and unlink what is still linked. Not the channel that
//       served us: our point was taken out there, and the channel may be gone by now. If several
//       cases are on one channel, points may be left there: such a select keeps its channels.
//
// Invariants
//   SE1  the order of locks is the order of addresses, so two selects cannot wait for each other.
//   SE2  nothing of a selection's frame is touched after the last of its locks is released, at L3
//        by the arriving side, at L4 by others: before it leaves the frame, the selector passes
//        through each lock, but for that of the channel that served it. There the other side wakes
//        it as its last act, and could lock that channel only after L3 had released it.
//   SE3  a value to be sent is moved by the side that carries out its case, and by no other.
//
// A uniform choice costs a random number only if several are ready: the k-th ready one replaces the
// choice with probability 1/k. (Go shuffles the cases first.)
//
// With two channels a random one is looked at before the other is locked, so that a select that
// finds it ready takes one lock; what is locked stays locked, so that nothing is paid when it is
// not.
//
// Sources: Go, src/runtime/select.go. Checked by select_test.cpp and Go's own tests, re-created.
#ifndef THRUM_DETAIL_SELECT_ENGINE_HPP
#define THRUM_DETAIL_SELECT_ENGINE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/random.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/chan/base.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace select_detail {

using namespace sched;
using namespace chan_detail;

/// One of the operations. Lives in the selector's frame.
struct select_operation {
  /// Tries the operation under the channel's lock; `partner` is to be woken without it.
  using attempt_function = attempt (*)(select_operation&, wait_point*& partner) noexcept;

  chan_base* core = nullptr;  // null: never ready
  bool sends = false;
  bool polled = false;  // the poller makes it ready
  bool closed = false;  // outcome: carried out because the channel is closed
  attempt_function try_locked = nullptr;
  void* slot = nullptr;         // the element to send, or the optional to receive into
  const void* value = nullptr;  // what is in a box in `slot`

  bool is_ready() const noexcept { return sends ? core->can_send() : core->can_receive(); }
};

/// What the caller provides, each for n operations.
struct select_frame {
  select_operation** operations;
  std::size_t n;
  chan_base** by_address;  // scratch
  wait_point* points;      // uninitialised memory
  /// Which of two operations on channels to look at first: 0, 1, or any.
  static constexpr std::uint32_t any = 2;
  std::uint32_t first = any;
};

struct select_outcome {
  enum class kind : std::uint8_t { chosen, none_ready, timed_out, cancelled } what;
  std::size_t index = 0;  // of the operation, if chosen
};

/// A number below n for a thread that is not ours: from the clock, so that it needs no state.
[[gnu::cold]] std::uint32_t random_below_by_clock(std::uint32_t n) noexcept;

/// A number below n. `m` is the caller's, null on a foreign thread.
inline std::uint32_t random_below(machine* m, std::uint32_t n) noexcept {
  return m != nullptr ? m->random.below(n) : random_below_by_clock(n);
}

/// Carries out one of the operations. Waits for one until `deadline` if `may_block`.
THRUM_OUT_OF_LINE select_outcome run_select(const select_frame& frame, bool may_block,
                                            std::int64_t deadline) noexcept;

}}}  // namespace thrum::THRUM_ABI::select_detail

#if THRUM_BODIES
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/yield.hpp>

#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace select_detail {

/// Some clocks stand for as long as several selects take.
inline constinit base::shared_figure<std::uint64_t> drawn_by_clock{0};

THRUM_COLD THRUM_OUT_OF_LINE std::uint32_t random_below_by_clock(std::uint32_t n) noexcept {
  constexpr std::uint64_t far_apart = 0x9e37'79b9'7f4a'7c15;
  const std::uint64_t drawn = drawn_by_clock.add(far_apart);
  return base::random(static_cast<std::uint64_t>(os::now()) + drawn).below(n);
}

/// L2. The index of one that is ready, frame.n if none is. Caller holds all locks.
inline std::size_t choose_ready(machine* m, const select_frame& frame) noexcept {
  std::size_t chosen = frame.n;
  std::uint32_t ready = 0;
  for (std::size_t i = 0; i < frame.n; ++i) {
    const select_operation& operation = *frame.operations[i];
    if (operation.core == nullptr || !operation.is_ready()) {
      continue;
    }
    ++ready;
    if (ready == 1 || random_below(m, ready) == 0) {
      chosen = i;
    }
  }
  return chosen;
}

/// The channels of a select that are locked, each once.
class select_locks {
 public:
  explicit select_locks(const select_frame& frame) noexcept : cores_(frame.by_address) {}

  /// L1 and L2 at once. The index of an operation that is ready, with at least its channel locked;
  /// frame.n if none is, with all of them locked.
  std::size_t lock_and_choose(machine* m, const select_frame& frame) noexcept {
    collect(frame);
    if (size_ == 2 && cores_[0] != cores_[1]) {
      const std::size_t chosen = choose_of_two(m, frame);
      if (chosen != busy) {
        return chosen;
      }
    }
    if (size_ > 1) {
      sort_once_each();
    }
    lock();
    return choose_ready(m, frame);
  }

  /// SE2: the array is not read after the last unlock.
  void unlock() noexcept {
    for (std::size_t i = size_; i > 0;) {
      --i;
      cores_[i]->lock().unlock();
    }
  }

  /// The lock that unlock() releases at the end. Not empty.
  spin_lock& last_released() const noexcept { return cores_[0]->lock(); }

  bool empty() const noexcept { return size_ == 0; }

  /// How many channels there are.
  std::size_t size() const noexcept { return size_; }

  /// Whether several cases are on one channel.
  bool has_duplicates() const noexcept { return has_duplicates_; }

  /// While all are locked: whatever becomes of their handles, they stay until let_go().
  void keep() noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
      cores_[i]->add_reference();
    }
  }
  /// Outside of a section: the last reference destroys what is in the channel.
  void let_go() noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
      cores_[i]->drop_reference();
    }
  }

 private:
  static constexpr std::size_t busy = static_cast<std::size_t>(-1);

  void collect(const select_frame& frame) noexcept {
    size_ = 0;
    for (std::size_t i = 0; i < frame.n; ++i) {
      if (frame.operations[i]->core != nullptr) {
        cores_[size_++] = frame.operations[i]->core;
      }
    }
  }

  void lock() noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
      cores_[i]->lock().lock();
    }
  }

  /// Two channels, the commonest select: a random one of them first, and the other only if that is
  /// not ready. SE1: the second lock is only tried for; `busy`, with nothing locked, if it is held.
  std::size_t choose_of_two(machine* m, const select_frame& frame) noexcept {
    std::size_t at[2];
    std::size_t n = 0;
    for (std::size_t i = 0; i < frame.n; ++i) {
      if (frame.operations[i]->core != nullptr) {
        at[n++] = i;
      }
    }
    const std::uint32_t first = frame.first != select_frame::any ? frame.first : random_below(m, 2);
    chan_base* const other = cores_[1 - first];
    cores_[0] = cores_[first];
    cores_[0]->lock().lock();
    if (frame.operations[at[first]]->is_ready()) {
      size_ = 1;
      return at[first];
    }
    if (!other->lock().try_lock()) {
      cores_[0]->lock().unlock();
      cores_[1] = other;
      return busy;
    }
    cores_[1] = other;
    return frame.operations[at[1 - first]]->is_ready() ? at[1 - first] : frame.n;
  }

  static std::uintptr_t address(const chan_base* core) noexcept {
    return reinterpret_cast<std::uintptr_t>(core);
  }

  /// Sorts the channels and drops duplicates. By a heap, which needs no stack and no good luck: there may be
  /// thousands.
  void sort_once_each() noexcept {
    for (std::size_t i = size_ / 2; i > 0;) {
      sift(--i, size_);
    }
    for (std::size_t end = size_; end > 1;) {
      swap(cores_[0], cores_[--end]);
      sift(0, end);
    }
    std::size_t distinct = 1;
    for (std::size_t i = 1; i < size_; ++i) {
      if (cores_[i] != cores_[distinct - 1]) {
        cores_[distinct++] = cores_[i];
      }
    }
    has_duplicates_ = distinct != size_;
    size_ = distinct;
  }

  void sift(std::size_t i, std::size_t end) noexcept {
    for (std::size_t child; (child = 2 * i + 1) < end; i = child) {
      if (child + 1 < end && address(cores_[child]) < address(cores_[child + 1])) {
        ++child;
      }
      if (address(cores_[child]) <= address(cores_[i])) {
        return;
      }
      swap(cores_[child], cores_[i]);
    }
  }

  static void swap(chan_base*& a, chan_base*& b) noexcept {
    chan_base* const t = a;
    a = b;
    b = t;
  }

  chan_base** cores_;
  std::size_t size_ = 0;
  bool has_duplicates_ = false;
};

/// When the first of the channels' clocks is due. Caller holds all locks.
inline std::int64_t first_due(const select_frame& frame) noexcept {
  std::int64_t first = no_deadline;
  for (std::size_t i = 0; i < frame.n; ++i) {
    const chan_base* const core = frame.operations[i]->core;
    if (core != nullptr && !frame.operations[i]->sends && core->due() < first) {
      first = core->due();
    }
  }
  return first;
}

/// L2, of one that is ready: unlocks all. False: all is to be tried again, as the partner was a select that
/// chose another of its cases.
inline bool carry_out(section& here, select_operation& operation, select_locks& locks) noexcept {
  wait_point* partner = nullptr;
  const attempt outcome = operation.try_locked(operation, partner);
  locks.unlock();
  if (partner != nullptr) {
    wake(here.m(), *partner);
  }
  if (outcome == attempt::done || outcome == attempt::closed) {
    operation.closed = outcome == attempt::closed;
    preemption_point(here);
    return true;
  }
  if (outcome == attempt::expired) {
    here.outside([&] { operation.core->expire(); });
  }
  return false;
}

inline auto& waiters_of(const select_operation& operation) noexcept {
  return (operation.sends ? operation.core->senders() : operation.core->receivers()).points;
}

/// L3. Caller holds the channel's lock.
inline void link(const select_operation& operation, wait_point& point) noexcept {
  if (operation.core != nullptr) {
    waiters_of(operation).push_back(point);
  }
}

/// L4.
inline void unlink(const select_operation& operation, wait_point& point) noexcept {
  scoped guard(operation.core->lock());
  if (point.linked) {
    waiters_of(operation).remove(point);
  }
}

/// Links all points in an order by chance. Of several cases that wait for the same, the side that
/// arrives takes the one in front: so each is as likely to stand there. The order lies in the slots
/// of the points, at which no thread looks before the locks are released.
THRUM_COLD inline void link_shuffled(machine* m, const select_frame& frame) noexcept {
  base::random by_clock(static_cast<std::uint64_t>(m == nullptr ? os::now() : 0));
  base::random& random = m != nullptr ? m->random : by_clock;
  wait_point* const points = frame.points;
  for (std::size_t i = 0; i < frame.n; ++i) {
    // Those before are shuffled: the i-th takes the place of one of them, or stays.
    const std::size_t at = random.below(base::convert<std::uint32_t>(i + 1));
    points[i].slot = points[at].slot;
    points[at].slot = points + i;
  }
  for (std::size_t i = 0; i < frame.n; ++i) {
    auto* const point = static_cast<wait_point*>(points[i].slot);
    link(*frame.operations[point - points], *point);
  }
}

/// L3 and L4. Caller holds all locks; they are released. Returns the point that won: one of the
/// frame's, or selection.self.
THRUM_NOINLINE inline wait_point* wait_for_any(section& here, selection_state& waiting,
                                               const select_frame& frame, select_locks& locks,
                                               std::int64_t deadline) noexcept {
  goroutine* const g = here.g();
  waiting.self.g = g;
  waiting.self.selection = &waiting;
  waiting.self.object = &locks.last_released();
  waiting.self.withdraw = &selection_state::withdraw<spin_lock>;
  for (std::size_t i = 0; i < frame.n; ++i) {
    auto* const point = ::new (static_cast<void*>(frame.points + i)) wait_point;
    point->g = g;
    point->selection = &waiting;
    if (!locks.has_duplicates()) [[likely]] {
      link(*frame.operations[i], *point);
    }
  }
  if (locks.has_duplicates()) {
    link_shuffled(here.m(), frame);
    locks.keep();
  }
  wait_reason reason = wait_reason::select;
  for (std::size_t i = 0; i < frame.n; ++i) {
    frame.points[i].slot = frame.operations[i]->slot;  // SE3: there the other side finds the value
    reason = frame.operations[i]->polled ? wait_reason::select_ready : reason;
  }
  const wake_cause cause = sched::wait(here, waiting.self, locks, {reason, true, deadline});
  waiting.self.cause.set(cause);
  // relaxed: it has been won, and nothing changes it
  wait_point* const winner = waiting.winner.load(relaxed);
  for (std::size_t i = 0; i < frame.n; ++i) {
    select_operation& operation = *frame.operations[i];
    if (operation.core != nullptr && frame.points + i != winner) {
      unlink(operation, frame.points[i]);
    }
  }
  if (locks.has_duplicates()) [[unlikely]] {
    here.outside([&] { locks.let_go(); });
  }
  return winner;
}

THRUM_OUT_OF_LINE select_outcome run_select(const select_frame& frame, bool may_block,
                                            std::int64_t deadline) noexcept {
  using kind = select_outcome::kind;
  section here;
  for (;;) {
    select_locks locks(frame);
    const std::size_t chosen = locks.lock_and_choose(here.m(), frame);
    if (chosen != frame.n) {
      if (carry_out(here, *frame.operations[chosen], locks)) {
        return {kind::chosen, chosen};
      }
      continue;
    }
    if (!may_block || (deadline != no_deadline && deadline <= traits::now())) {
      locks.unlock();
      if (may_block && here.m() != nullptr && may_cancel(*here.m()) && must_exit(*here.m())) {
        return {kind::cancelled};
      }
      preemption_point(here);
      return {may_block ? kind::timed_out : kind::none_ready};
    }
    if (locks.empty()) {
      const wake_cause cause = wait_for_nothing(here, wait_reason::select_no_cases, deadline);
      return {cause == wake_cause::cancelled ? kind::cancelled : kind::timed_out};
    }
    const std::int64_t due = first_due(frame);
    selection_state waiting;
    wait_point* const winner =
        wait_for_any(here, waiting, frame, locks, due < deadline ? due : deadline);
    if (winner != &waiting.self) {
      const wake_cause cause = winner->cause.get();
      if (cause == wake_cause::retry) {
        continue;
      }
      const auto index = static_cast<std::size_t>(winner - frame.points);
      frame.operations[index]->closed = cause == wake_cause::closed;
      return {kind::chosen, index};
    }
    if (waiting.self.cause.get() == wake_cause::cancelled) {
      return {kind::cancelled};
    }
    if (deadline < due) {  // else the clock comes first, however late we run
      return {kind::timed_out};
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::select_detail
#endif

#endif
