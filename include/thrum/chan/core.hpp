// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a channel is: a ring of elements, two lists of waiters, one lock.
//
// Invariants
//   CH1  at most one of the two lists has waiters.
//   CH2  if the ring is not empty, nobody waits to receive; if it has room, nobody waits to send.
//   CH3  nobody is made runnable while the lock is held: a woken goroutine would spin on it.
//   CH4  an element that a waiting sender offers stays in the sender's frame until a receiver takes
//        it, under the lock; a receiver's frame is written under the lock.
//
// Hand-off is direct: a sender puts its element into the frame of the first waiting receiver, a
// receiver takes it out of the frame of the first waiting sender. So waiters are served in the order
// of their arrival, and a newcomer cannot overtake them. A receiver from a full ring takes the oldest
// element and moves the first waiting sender's into the freed slot, so the order of elements is the
// order of sends.
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
#include <thrum/base/order.hpp>
#include <thrum/sched/park.hpp>
#include <thrum/sync/wait_list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum::inline THRUM_ABI {

/// What came of a receive.
enum class recv_status : std::uint8_t {
  ok,       ///< an element was received
  closed,   ///< the channel is closed and drained
  empty,    ///< nothing is there now
  timeout,  ///< nothing came in time
};

namespace sched {

using namespace base::orders;

/// What came of an operation on a channel's core.
enum class chan_result : std::uint8_t { ok, closed, would_block, timed_out, cancelled };

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

template <class E>
class chan_core {
 public:
  static_assert(std::is_nothrow_move_constructible_v<E> && std::is_nothrow_destructible_v<E>);

  /// One allocation for the channel and its ring. The caller owns one reference.
  static chan_core* make(std::size_t capacity) {
    if (capacity > (std::numeric_limits<std::size_t>::max() / 2 - sizeof(chan_core)) / sizeof(E)) {
      base::throw_usage("make_chan: the capacity is out of range");
    }
    void* const memory = ::operator new(sizeof(chan_core) + capacity * sizeof(E),
                                        std::align_val_t(alignof(chan_core)));
    return ::new (memory) chan_core(capacity);
  }

  chan_core(const chan_core&) = delete;
  chan_core& operator=(const chan_core&) = delete;

  void add_reference() noexcept {
    references_.fetch_add(1, relaxed);  // relaxed: the caller holds one already
  }

  void drop_reference() noexcept {
    // [chan.refs] acq_rel: every use by others happened before the last one destroys it.
    if (references_.fetch_sub(1, acq_rel) == 1) {  // pairs with itself: [chan.refs]
      this->~chan_core();
      ::operator delete(static_cast<void*>(this), std::align_val_t(alignof(chan_core)));
    }
  }

  /// Sends `value`; it is moved from only if the result is ok.
  chan_result send(E& value, bool may_block, std::int64_t deadline) noexcept {
    auto* const m = parking_m<default_traits>();
    lock_.lock();
    if (closed_.load(relaxed)) [[unlikely]] {  // relaxed: locked
      lock_.unlock();
      return chan_result::closed;
    }
    if (wait_point* const receiver = receivers_.pop(wake_cause::notified)) {
      static_cast<std::optional<E>*>(receiver->slot)->emplace(std::move(value));
      lock_.unlock();
      wake(m, *receiver);
      return finish(m);
    }
    if (count_.load(relaxed) < capacity_) {  // relaxed: locked
      push(std::move(value));
      lock_.unlock();
      return finish(m);
    }
    if (!may_block) {
      lock_.unlock();
      return chan_result::would_block;
    }
    return block(m, senders_, &value, {wait_reason::chan_send, true, deadline});
  }

  /// Receives into `out`, which is empty before and filled only if the result is ok.
  chan_result recv(std::optional<E>& out, bool may_block, std::int64_t deadline) noexcept {
    auto* const m = parking_m<default_traits>();
    lock_.lock();
    if (count_.load(relaxed) != 0) {  // relaxed: locked
      pop(out);
      wait_point* const sender = senders_.pop(wake_cause::notified);
      if (sender != nullptr) {
        push(std::move(*static_cast<E*>(sender->slot)));
      }
      lock_.unlock();
      if (sender != nullptr) {
        wake(m, *sender);
      }
      return finish(m);
    }
    if (wait_point* const sender = senders_.pop(wake_cause::notified)) {
      out.emplace(std::move(*static_cast<E*>(sender->slot)));
      lock_.unlock();
      wake(m, *sender);
      return finish(m);
    }
    if (closed_.load(relaxed)) {  // relaxed: locked
      lock_.unlock();
      finish(m);
      return chan_result::closed;
    }
    if (!may_block) {
      lock_.unlock();
      return chan_result::would_block;
    }
    return block(m, receivers_, &out, {wait_reason::chan_receive, true, deadline});
  }

  /// Closes it and wakes everybody who waits. False: it was closed already.
  bool close() noexcept {
    lock_.lock();
    if (closed_.load(relaxed)) {  // relaxed: locked
      lock_.unlock();
      return false;
    }
    closed_.store(true, relaxed);  // relaxed: decisive readers hold the lock
    wait_point* const receivers = receivers_.take_all(wake_cause::closed);
    wait_point* const senders = senders_.take_all(wake_cause::closed);
    lock_.unlock();
    wake_chain(receivers);
    wake_chain(senders);
    return true;
  }

  std::size_t size() const noexcept {
    return count_.load(relaxed);  // relaxed: old as soon as it is read
  }
  std::size_t capacity() const noexcept { return capacity_; }
  bool is_closed() const noexcept {
    return closed_.load(relaxed);  // relaxed: old as soon as it is read
  }

 private:
  explicit chan_core(std::size_t capacity) noexcept : capacity_(capacity) {}

  ~chan_core() {
    for (std::size_t n = count_.load(relaxed); n > 0; --n) {  // relaxed: nobody else is left
      std::destroy_at(&ring()[first_]);
      first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
    }
  }

  static chan_result finish(basic_m<default_traits>* m) noexcept {
    if (m != nullptr) [[likely]] {
      preemption_point(*m);
    }
    return chan_result::ok;
  }

  THRUM_NOINLINE static chan_result block(basic_m<default_traits>* m, wait_list& list, void* slot,
                                          const wait_options& options) noexcept {
    wait_point point;
    point.g = m != nullptr ? m->g : nullptr;
    point.object = &list;
    point.withdraw = &wait_list::withdraw;
    point.slot = slot;
    list.points.push_back(point);
    switch (sched::wait(m, point, list.lock, options)) {
      case wake_cause::closed: return chan_result::closed;
      case wake_cause::timed_out: return chan_result::timed_out;
      case wake_cause::cancelled: return chan_result::cancelled;
      case wake_cause::none:
      case wake_cause::notified: break;
    }
    return chan_result::ok;
  }

  void push(E&& value) noexcept {
    const std::size_t n = count_.load(relaxed);  // relaxed: locked
    std::size_t at = first_ + n;
    at = at >= capacity_ ? at - capacity_ : at;
    ::new (static_cast<void*>(&ring()[at])) E(std::move(value));
    count_.store(n + 1, relaxed);  // relaxed: locked
  }

  void pop(std::optional<E>& out) noexcept {
    E& oldest = ring()[first_];
    out.emplace(std::move(oldest));
    std::destroy_at(&oldest);
    first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
    count_.store(count_.load(relaxed) - 1, relaxed);  // relaxed: locked
  }

  E* ring() noexcept {
    return std::launder(reinterpret_cast<E*>(reinterpret_cast<char*>(this) + sizeof(chan_core)));
  }

  alignas(alignof(E) > alignof(void*) ? alignof(E) : alignof(void*)) spin_lock lock_;
  std::atomic<bool> closed_{false};
  std::atomic<std::uint32_t> references_{1};
  std::atomic<std::size_t> count_{0};
  std::size_t first_ = 0;
  const std::size_t capacity_;
  wait_list receivers_{lock_};
  wait_list senders_{lock_};
};

}  // namespace sched
}  // namespace thrum::inline THRUM_ABI

#endif
