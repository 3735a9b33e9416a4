// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a channel is: a ring of elements, two lists of waiters, one lock. base.hpp has what does not
// depend on the type of the elements.
//
// Invariants
//   CH1  at most one of the two lists has waiters, stale ones of selects and a select that does
//        both aside.
//   CH2  if the ring is not empty, no receiver waits; if it has room, no sender waits.
//   CH3  no goroutine is made runnable while the lock is held: a woken goroutine would spin on it.
//   CH4  an element that a waiting sender offers stays in the sender's frame until a receiver takes
//        it, under the lock; a receiver's frame is written under the lock.
//
// Hand-off is direct: a sender puts its element into the frame of the first waiting receiver, a
// receiver takes it out of the frame of the first waiting sender. So waiters are served in the
// order of their arrival, and a newcomer cannot overtake them. A receiver from a full ring takes
// the oldest element and moves the first waiting sender's into the freed slot, so the order of
// elements is the order of sends.
//
// Elements move without throwing: see element.hpp.
//
// Short forms
//   A send to a ring with room, or a receive from one with elements, takes a goroutine fifty
//   instructions while no other thread wants its P. The short forms make a call only as their last
//   step, so that nothing is kept across one: no register is saved, no argument lies in memory. The
//   other half of a hand-over, which waits, is in one piece down to the switch. Figures, and what was
//   tried: docs/decisions/0033.
//
// Why the memory model of Go's channels holds: everything happens under the one lock, and waking
// publishes what was done before it (run_queue's and note's orders).
//
// Source: Go, src/runtime/chan.go. Checked by chan_test.cpp and Go's own tests, re-created.
#ifndef THRUM_DETAIL_CHAN_CORE_HPP
#define THRUM_DETAIL_CHAN_CORE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/chan/base.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/stop_relay.hpp>
#include <thrum/detail/sched/run/yield.hpp>
#include <thrum/detail/sync/wait_list.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// The outcome of a receive.
enum class recv_status : std::uint8_t {
  ok,       ///< an element was received
  closed,   ///< the channel is closed and drained
  empty,    ///< nothing is there now
  timeout,  ///< nothing came in time
  stopped,  ///< nothing came before the stop
};

namespace chan_detail {

using namespace sched;
using namespace sync_detail;

/// The outcome of an operation on a channel's core.
enum class chan_result : std::uint8_t { ok, closed, would_block, timed_out, cancelled, retry };

template <class E>
class alignas(alignof(E) > alignof(chan_base) ? alignof(E) : alignof(chan_base)) chan_core
    : public chan_base {
 public:
  static_assert(std::is_nothrow_move_constructible_v<E> && std::is_nothrow_destructible_v<E>);
  using element = E;

  /// One allocation for the channel and its ring. The caller owns one reference.
  static chan_core* make(std::size_t capacity) {
    if (capacity > (std::numeric_limits<std::size_t>::max() / 2 - sizeof(chan_core)) / sizeof(E)) {
      base::throw_usage("make_chan: the capacity is negative or too large");
    }
    void* const memory = ::operator new(sizeof(chan_core) + capacity * sizeof(E),
                                        std::align_val_t(alignof(chan_core)));
    return ::new (memory) chan_core(capacity);
  }

  /// Sends `value`; it is moved from only if the result is ok.
  THRUM_INLINE chan_result send(E& value, bool may_block, std::int64_t deadline) noexcept {
    return send_on(value, may_block, deadline, current_m());
  }

  /// Receives into `out`, which is empty before and filled only if the result is ok.
  THRUM_INLINE chan_result recv(std::optional<E>& out, bool may_block,
                                std::int64_t deadline) noexcept {
    return recv_on(out, may_block, deadline, current_m());
  }

  /// One attempt under the lock. The caller then wakes `receiver` without the lock.
  THRUM_INLINE attempt try_send_locked(E& value, wait_point*& receiver) noexcept {
    if (closed_.get()) [[unlikely]] {
      return attempt::closed;
    }
    receiver = pop(receivers_);
    if (receiver != nullptr) {
      THRUM_ASSERT(CH2, count_.get() == 0);
      static_cast<std::optional<E>*>(receiver->slot)->emplace(std::move(value));
      return attempt::done;
    }
    if (count_.get() < capacity_) {
      put(std::move(value));
      return attempt::done;
    }
    return attempt::not_ready;
  }

  /// One attempt under the lock. The caller then wakes `sender` without the lock.
  THRUM_INLINE attempt try_recv_locked(std::optional<E>& out, wait_point*& sender) noexcept {
    if (count_.get() != 0) {
      take(out);
      sender = pop(senders_);
      if (sender != nullptr) {
        put(std::move(*static_cast<E*>(sender->slot)));
      }
      return attempt::done;
    }
    sender = pop(senders_);
    if (sender != nullptr) {
      THRUM_ASSERT(CH2, capacity_ == 0);
      out.emplace(std::move(*static_cast<E*>(sender->slot)));  // CH4
      return attempt::done;
    }
    if (closed_.get()) {
      return attempt::closed;
    }
    return clock_ != nullptr ? look_at_clock(&out) : attempt::not_ready;
  }

 protected:
  /// A channel with a clock, part of a larger object that `when_unused` destroys.
  chan_core(chan_clock& clock, destroy_function when_unused) noexcept
      : chan_base(0, &clock, when_unused) {}

  ~chan_core() {
    for (std::size_t n = count_.get(); n > 0; --n) {
      std::destroy_at(&ring()[first_]);
      first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
    }
  }

 private:
  explicit chan_core(std::size_t capacity) noexcept : chan_base(capacity, nullptr, &destroy) {}

  // The short forms: a goroutine calls, the ring has room or elements, there is no waiter, the lock is free.
  // What else they call is their last step, so they save no registers.

  THRUM_NOINLINE chan_result send_on(E& value, bool may_block, std::int64_t deadline,
                                     machine* m) noexcept {
    if (!lock_at_once(m)) [[unlikely]] {
      return send_from_anywhere(value, may_block, deadline);
    }
    if (count_.get() >= capacity_ || closed_.get() || !receivers_.empty()) {
      return send_from_goroutine(value, may_block, deadline, *m);
    }
    put(std::move(value));
    return end_at_once(*m);
  }

  THRUM_NOINLINE chan_result recv_on(std::optional<E>& out, bool may_block, std::int64_t deadline,
                                     machine* m) noexcept {
    if (!lock_at_once(m)) [[unlikely]] {
      return recv_from_anywhere(out, may_block, deadline);
    }
    if (count_.get() == 0 || !senders_.empty()) {
      return recv_from_goroutine(out, may_block, deadline, *m);
    }
    take(out);
    return end_at_once(*m);
  }

  THRUM_INLINE bool lock_at_once(machine* m) noexcept {
    if (!enter_scheduler_at_once(m)) [[unlikely]] {
      return false;
    }
    if (!lock_.try_lock()) [[unlikely]] {
      leave_scheduler(*m);
      return false;
    }
    return true;
  }

  THRUM_INLINE chan_result end_at_once(machine& m) noexcept {
    if (lock_.drop()) [[unlikely]] {
      return wake_and_end(lock_, m);
    }
    leave_at_once(m);
    return chan_result::ok;
  }
  THRUM_COLD THRUM_NOINLINE static chan_result wake_and_end(spin_lock& dropped,
                                                            machine& m) noexcept {
    dropped.wake_sleeper();
    leave_at_once(m);
    return chan_result::ok;
  }

  // The rest, with the lock held, for a goroutine that entered at once, and for everybody.

  struct own_goroutine {
    machine& inside;
    THRUM_INLINE machine* m() const noexcept { return &inside; }
    THRUM_INLINE void leave() const noexcept { leave_at_once(inside); }
    THRUM_INLINE chan_result block(wait_list& list, void* slot, wait_reason reason,
                                   std::int64_t deadline) const noexcept {
      return deadline == no_deadline ? block_for_ever(inside, list, slot, reason)
                                     : block_until(inside, list, slot, reason, deadline);
    }
  };

  struct anybody {
    section& here;
    machine* m() const noexcept { return here.m(); }
    void leave() const noexcept { preemption_point(here); }
    chan_result block(wait_list& list, void* slot, wait_reason reason,
                      std::int64_t deadline) const noexcept {
      return chan_core::block(here, list, slot, {reason, true, deadline});
    }
  };

  THRUM_NOINLINE chan_result send_from_goroutine(E& value, bool may_block, std::int64_t deadline,
                                                 machine& m) noexcept {
    return send_locked(own_goroutine{m}, value, may_block, deadline);
  }
  THRUM_NOINLINE chan_result send_from_anywhere(E& value, bool may_block,
                                                std::int64_t deadline) noexcept {
    section here;
    lock_.lock();
    return send_locked(anybody{here}, value, may_block, deadline);
  }

  THRUM_NOINLINE chan_result recv_from_goroutine(std::optional<E>& out, bool may_block,
                                                 std::int64_t deadline, machine& m) noexcept {
    if (clock_ != nullptr) [[unlikely]] {
      section here(m);
      return recv_by_clock(here, out, may_block, deadline);
    }
    return recv_locked(own_goroutine{m}, out, may_block, deadline);
  }
  THRUM_NOINLINE chan_result recv_from_anywhere(std::optional<E>& out, bool may_block,
                                                std::int64_t deadline) noexcept {
    section here;
    lock_.lock();
    return clock_ != nullptr ? recv_by_clock(here, out, may_block, deadline)
                             : recv_locked(anybody{here}, out, may_block, deadline);
  }

  // CH1: a side waits only if it has found no waiter on the other side, under the same lock.

  template <class Caller>
  THRUM_INLINE chan_result send_locked(Caller caller, E& value, bool may_block,
                                       std::int64_t deadline) noexcept {
    wait_point* receiver = nullptr;
    const attempt outcome = try_send_locked(value, receiver);
    if (outcome == attempt::not_ready && may_block) {
      return caller.block(senders_, &value, wait_reason::chan_send, deadline);
    }
    return finish(caller, outcome, receiver);
  }

  template <class Caller>
  THRUM_INLINE chan_result recv_locked(Caller caller, std::optional<E>& out, bool may_block,
                                       std::int64_t deadline) noexcept {
    wait_point* sender = nullptr;
    const attempt outcome = try_recv_locked(out, sender);
    if (outcome == attempt::not_ready && may_block) {
      return caller.block(receivers_, &out, wait_reason::chan_receive, deadline);
    }
    return finish(caller, outcome, sender);
  }

  template <class Caller>
  THRUM_INLINE chan_result finish(Caller caller, attempt outcome, wait_point* partner) noexcept {
    lock_.unlock();
    if (partner != nullptr) {  // CH3
      wake(caller.m(), *partner);
    }
    caller.leave();
    return outcome == attempt::done     ? chan_result::ok
           : outcome == attempt::closed ? chan_result::closed
                                        : chan_result::would_block;
  }

  /// recv_locked, of a channel with a clock.
  THRUM_COLD chan_result recv_by_clock(section& here, std::optional<E>& out, bool may_block,
                                       std::int64_t deadline) noexcept {
    for (;;) {
      wait_point* sender = nullptr;
      const attempt outcome = try_recv_locked(out, sender);
      if (outcome == attempt::not_ready && may_block) {
        const chan_result result = wait_by_clock(here, out, deadline);
        if (result != chan_result::retry) {
          return result;
        }
      } else if (outcome == attempt::expired) {
        lock_.unlock();
        here.outside([this] { expire(); });
      } else {
        return finish(anybody{here}, outcome, sender);
      }
      lock_.lock();
    }
  }

  static void destroy(chan_base* self) noexcept {
    auto* const core = static_cast<chan_core*>(self);
    core->~chan_core();
    ::operator delete(static_cast<void*>(core), std::align_val_t(alignof(chan_core)));
  }

  /// Waits no longer than until the channel's clock says that it is ready; then, and when the clock
  /// was changed, the result is `retry`. The lock is held, and released.
  THRUM_COLD chan_result wait_by_clock(section& here, std::optional<E>& out,
                                       std::int64_t deadline) noexcept {
    const std::int64_t due = clock_->when;
    if (deadline == until_stopped) {
      return wait_by_clock_until_stopped(here, out, due);
    }
    const std::int64_t until = due < deadline ? due : deadline;
    const chan_result result =
        block(here, receivers_, &out, {wait_reason::chan_receive, true, until});
    // However late we run: a clock that was due in time is looked at before the deadline.
    return result == chan_result::timed_out && due <= deadline ? chan_result::retry : result;
  }

  /// Waits by the clock for a receiver that waits until_stopped: its relay has the clock's time too.
  THRUM_COLD chan_result wait_by_clock_until_stopped(section& here, std::optional<E>& out,
                                                     std::int64_t due) noexcept {
    stop_relay& relay = *current_stop_relay(here);
    const std::int64_t own = relay.deadline;
    relay.deadline = due < own ? due : own;
    const chan_result result =
        block(here, receivers_, &out, {wait_reason::chan_receive, true, until_stopped});
    relay.deadline = own;
    return result == chan_result::timed_out && due <= own && due <= traits::now()
               ? chan_result::retry
               : result;
  }

  THRUM_NOINLINE static chan_result block(section& here, wait_list& list, void* slot,
                                          const wait_options& options) noexcept {
    wait_point point;  // CB2: sched::wait() returns when it is in no list any more
    link(point, here.g(), list, slot);
    return result_of(sched::wait(here, point, list.lock, options));
  }

  /// Blocks a goroutine without a deadline; the caller is inside.
  THRUM_NOINLINE static chan_result block_for_ever(machine& m, wait_list& list, void* slot,
                                                   wait_reason reason) noexcept {
    section here(m);
    wait_point point;
    link(point, m.g, list, slot);
    return result_of(sched::wait_for_ever(here, m, point, list.lock, reason));
  }
  THRUM_COLD THRUM_NOINLINE static chan_result block_until(machine& m, wait_list& list, void* slot,
                                                           wait_reason reason,
                                                           std::int64_t deadline) noexcept {
    section here(m);
    return block(here, list, slot, {reason, true, deadline});
  }

  THRUM_INLINE static void link(wait_point& point, goroutine* g, wait_list& list,
                                void* slot) noexcept {
    point.g = g;
    point.object = &list;
    point.withdraw = &wait_list::withdraw;
    point.slot = slot;
    list.points.push_back(point);
  }

  THRUM_INLINE static chan_result result_of(wake_cause cause) noexcept {
    switch (cause) {
      case wake_cause::closed: return chan_result::closed;
      case wake_cause::timed_out: return chan_result::timed_out;
      case wake_cause::cancelled: return chan_result::cancelled;
      case wake_cause::retry: return chan_result::retry;
      case wake_cause::none:
      case wake_cause::notified: break;
    }
    return chan_result::ok;
  }

  THRUM_INLINE void put(E&& value) noexcept {
    const std::size_t n = count_.get();
    std::size_t at = first_ + n;
    at = at >= capacity_ ? at - capacity_ : at;
    ::new (static_cast<void*>(&ring()[at])) E(std::move(value));
    count_.set(n + 1);
  }

  THRUM_INLINE void take(std::optional<E>& out) noexcept {
    E& oldest = ring()[first_];
    out.emplace(std::move(oldest));
    std::destroy_at(&oldest);
    first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
    count_.set(count_.get() - 1);
  }

  E* ring() noexcept {
    return std::launder(reinterpret_cast<E*>(reinterpret_cast<char*>(this) + sizeof(chan_core)));
  }
};

}  // namespace chan_detail
}}  // namespace thrum::THRUM_ABI

#endif
