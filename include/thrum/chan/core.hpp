// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a channel is: a ring of elements, two lists of waiters, one lock. base.hpp has what does not
// depend on the type of the elements.
//
// Invariants
//   CH1  at most one of the two lists has waiters, stale ones of selects and a select that does
//        both aside.
//   CH2  if the ring is not empty, nobody waits to receive; if it has room, nobody waits to send.
//   CH3  nobody is made runnable while the lock is held: a woken goroutine would spin on it.
//   CH4  an element that a waiting sender offers stays in the sender's frame until a receiver takes
//        it, under the lock; a receiver's frame is written under the lock.
//
// Hand-off is direct: a sender puts its element into the frame of the first waiting receiver, a
// receiver takes it out of the frame of the first waiting sender. So waiters are served in the
// order of their arrival, and a newcomer cannot overtake them. A receiver from a full ring takes
// the oldest element and moves the first waiting sender's into the freed slot, so the order of
// elements is the order of sends.
//
// Elements move without throwing: a type whose move may throw is kept in a box, allocated before
// the lock is taken, so that an exception leaves the channel as it was.
//
// Why the memory model of Go's channels holds: everything happens under the one lock, and waking
// publishes what was done before it (run_queue's and note's orders).
//
// Source: Go, src/runtime/chan.go. Checked by chan_test.cpp and Go's own tests, re-created.
#ifndef THRUM_CHAN_CORE_HPP
#define THRUM_CHAN_CORE_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/order.hpp>
#include <thrum/chan/base.hpp>
#include <thrum/sched/run/park.hpp>
#include <thrum/sched/run/stop_watch.hpp>
#include <thrum/sync/wait_list.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum { inline namespace THRUM_ABI {

/// What came of a receive.
enum class recv_status : std::uint8_t {
  ok,       ///< an element was received
  closed,   ///< the channel is closed and drained
  empty,    ///< nothing is there now
  timeout,  ///< nothing came in time
  stopped,  ///< nothing came before the stop
};

namespace chan_detail {

using namespace base::orders;
using namespace sched;
using namespace sync_detail;

/// What came of an operation on a channel's core.
enum class chan_result : std::uint8_t { ok, closed, would_block, timed_out, cancelled, retry };

/// T; or, if that cannot be an element, what the compiler goes on with after it has said so once.
template <class T>
using element_or_other = std::conditional_t<
    std::is_reference_v<T>, std::remove_reference_t<T>,
    std::conditional_t<std::is_object_v<T> && std::is_move_constructible_v<T>, T, void>>;

/// Says so.
template <class T>
consteval bool must_be_element() {
  static_assert(!std::is_reference_v<T>,
                "chan<T>: T must not be a reference; send a pointer or a std::reference_wrapper");
  static_assert(std::is_reference_v<T> || std::is_same_v<T, element_or_other<T>>,
                "chan<T>: elements move from one goroutine to another, so T must be movable; send "
                "a std::unique_ptr<T>");
  return true;
}

/// How an element of type T lies in a channel: as itself, as nothing, or in a box.
template <class T>
struct chan_element {
  static constexpr bool is_boxed = !std::is_nothrow_move_constructible_v<T>;
  using type = std::conditional_t<is_boxed, std::unique_ptr<T>, T>;

  template <class From>
  static type wrap(From&& from) {
    if constexpr (is_boxed) {
      return std::make_unique<T>(std::forward<From>(from));
    } else {
      return type(std::forward<From>(from));
    }
  }
  static T&& unwrap(type& element) noexcept {
    if constexpr (is_boxed) {
      return std::move(*element);
    } else {
      return std::move(element);
    }
  }
};

template <>
struct chan_element<void> {
  using type = std::monostate;
};

/// Gives a value that was not sent back to where it came from. Throws what its assignment throws;
/// what cannot be assigned is made anew, and ends the program if that throws: its owner would
/// destroy a value that is none.
template <class T>
void put_back(T& value, T& from) {
  if constexpr (std::is_move_assignable_v<T>) {
    value = std::move(from);
  } else {
    [&]() noexcept {
      std::destroy_at(&value);
      std::construct_at(&value, std::move(from));
    }();
  }
}

template <class E>
class alignas(alignof(E) > alignof(chan_base) ? alignof(E) : alignof(chan_base)) chan_core
    : public chan_base {
 public:
  static_assert(std::is_nothrow_move_constructible_v<E> && std::is_nothrow_destructible_v<E>);
  using element = E;

  /// One allocation for the channel and its ring. The caller owns one reference.
  static chan_core* make(std::size_t capacity) {
    if (capacity > (std::numeric_limits<std::size_t>::max() / 2 - sizeof(chan_core)) / sizeof(E)) {
      base::throw_usage("make_chan: the capacity is out of range");
    }
    void* const memory = ::operator new(sizeof(chan_core) + capacity * sizeof(E),
                                        std::align_val_t(alignof(chan_core)));
    return ::new (memory) chan_core(capacity);
  }

  /// Sends `value`; it is moved from only if the result is ok.
  chan_result send(E& value, bool may_block, std::int64_t deadline) noexcept {
    section here;
    wait_point* receiver = nullptr;
    lock_.lock();
    const attempt outcome = try_send_locked(value, receiver);
    if (outcome == attempt::not_ready && may_block) {
      // CH1: who waits here has found nobody on the other side, under the same lock.
      return block(here, senders_, &value, {wait_reason::chan_send, true, deadline});
    }
    lock_.unlock();
    if (receiver != nullptr) {  // CH3
      wake(here.m(), *receiver);
    }
    return finish(here, outcome);
  }

  /// Receives into `out`, which is empty before and filled only if the result is ok.
  chan_result recv(std::optional<E>& out, bool may_block, std::int64_t deadline) noexcept {
    section here;
    for (;;) {
      wait_point* sender = nullptr;
      lock_.lock();
      const attempt outcome = try_recv_locked(out, sender);
      if (outcome == attempt::not_ready && may_block) {
        if (clock_ == nullptr) [[likely]] {
          return block(here, receivers_, &out, {wait_reason::chan_receive, true, deadline});
        }
        const chan_result result = wait_by_clock(here, out, deadline);
        if (result == chan_result::retry) {
          continue;
        }
        return result;
      }
      lock_.unlock();
      if (sender != nullptr) {
        wake(here.m(), *sender);
      }
      if (outcome != attempt::expired) [[likely]] {
        return finish(here, outcome);
      }
      here.outside([this] { expire(); });
    }
  }

  /// One attempt under the lock. `receiver` is to be woken without it.
  attempt try_send_locked(E& value, wait_point*& receiver) noexcept {
    if (closed_.load(relaxed)) [[unlikely]] {  // relaxed: under the lock
      return attempt::closed;
    }
    receiver = pop(receivers_);
    if (receiver != nullptr) {
      THRUM_ASSERT(CH2, count_.load(relaxed) == 0);  // relaxed: under the lock
      static_cast<std::optional<E>*>(receiver->slot)->emplace(std::move(value));
      return attempt::done;
    }
    if (count_.load(relaxed) < capacity_) {  // relaxed: under the lock
      put(std::move(value));
      return attempt::done;
    }
    return attempt::not_ready;
  }

  /// One attempt under the lock. `sender` is to be woken without it.
  attempt try_recv_locked(std::optional<E>& out, wait_point*& sender) noexcept {
    if (count_.load(relaxed) != 0) {  // relaxed: under the lock
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
    if (closed_.load(relaxed)) {  // relaxed: under the lock
      return attempt::closed;
    }
    return clock_ != nullptr ? look_at_clock(&out) : attempt::not_ready;
  }

 protected:
  /// A channel with a clock, part of a larger object that `when_unused` destroys.
  chan_core(chan_clock& clock, destroy_function when_unused) noexcept
      : chan_base(0, &clock, when_unused) {}

  ~chan_core() {
    for (std::size_t n = count_.load(relaxed); n > 0; --n) {  // relaxed: nobody else is left
      std::destroy_at(&ring()[first_]);
      first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
    }
  }

 private:
  explicit chan_core(std::size_t capacity) noexcept : chan_base(capacity, nullptr, &destroy) {}

  static void destroy(chan_base* self) noexcept {
    auto* const core = static_cast<chan_core*>(self);
    core->~chan_core();
    ::operator delete(static_cast<void*>(core), std::align_val_t(alignof(chan_core)));
  }

  static chan_result finish(section& here, attempt outcome) noexcept {
    if (outcome == attempt::not_ready) {
      return chan_result::would_block;
    }
    preemption_point(here);
    return outcome == attempt::closed ? chan_result::closed : chan_result::ok;
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

  /// The same for one that waits until_stopped: its watch has the clock's time too.
  THRUM_COLD chan_result wait_by_clock_until_stopped(section& here, std::optional<E>& out,
                                                     std::int64_t due) noexcept {
    stop_watch& watch = *current_stop_watch(here);
    const std::int64_t own = watch.deadline;
    watch.deadline = due < own ? due : own;
    const chan_result result =
        block(here, receivers_, &out, {wait_reason::chan_receive, true, until_stopped});
    watch.deadline = own;
    return result == chan_result::timed_out && due <= own && due <= traits::now()
               ? chan_result::retry
               : result;
  }

  THRUM_NOINLINE static chan_result block(section& here, wait_list& list, void* slot,
                                          const wait_options& options) noexcept {
    wait_point point;  // CB2: sched::wait() returns when it is in no list any more
    point.g = here.g();
    point.object = &list;
    point.withdraw = &wait_list::withdraw;
    point.slot = slot;
    list.points.push_back(point);
    switch (sched::wait(here, point, list.lock, options)) {
      case wake_cause::closed: return chan_result::closed;
      case wake_cause::timed_out: return chan_result::timed_out;
      case wake_cause::cancelled: return chan_result::cancelled;
      case wake_cause::retry: return chan_result::retry;
      case wake_cause::none:
      case wake_cause::notified: break;
    }
    return chan_result::ok;
  }

  void put(E&& value) noexcept {
    const std::size_t n = count_.load(relaxed);  // relaxed: under the lock
    std::size_t at = first_ + n;
    at = at >= capacity_ ? at - capacity_ : at;
    ::new (static_cast<void*>(&ring()[at])) E(std::move(value));
    count_.store(n + 1, relaxed);  // relaxed: under the lock
  }

  void take(std::optional<E>& out) noexcept {
    E& oldest = ring()[first_];
    out.emplace(std::move(oldest));
    std::destroy_at(&oldest);
    first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
    count_.store(count_.load(relaxed) - 1, relaxed);  // relaxed: under the lock
  }

  E* ring() noexcept {
    return std::launder(reinterpret_cast<E*>(reinterpret_cast<char*>(this) + sizeof(chan_core)));
  }
};

}  // namespace chan_detail
}}  // namespace thrum::THRUM_ABI

#endif
