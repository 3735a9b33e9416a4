// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// When a deadline or a stop may enter an object on behalf of a waiter.
//
// Purpose
//   A wait may be ended by its deadline or by the stop of its runtime. Both must enter the object
//   that is waited on, to unlink the waiter, and come when they like; while a thread that has
//   notified a waiter may destroy the object at once, long before that waiter runs. So each waiter
//   has a gate. The timer and the stop go through it before they touch the object; a thread that
//   releases the waiter shuts it first, while the object is still locked.
//
// State: one word, in the frame of the waiter, which stays for as long as one of the two looks.
//   closed   no visitor is about to come: nearly all waits, all their life
//   open     a deadline is armed, or a stop has been announced: one of them may enter
//   inside   one of them has entered: the visitor
//   shut     the waiter was released; no visitor enters any more
//   left     the visitor has left, and none enters any more: it was shut, or the waiter is out
//
// The two sides
//   visit()  open -> inside, tries for the object's lock, takes the waiter out if it still is in,
//            unlocks, leaves. While the lock is held by others it looks whether the gate was shut,
//            and leaves at once if it was.
//   shut()   with the object's lock held: shut; if a visitor was inside, waits until it has left.
//            A visitor never waits for the lock, so this ends however many waiters are released in
//            one hold of the lock, and by any thread.
//
// What this costs
//   A waiter that no visitor may come for is released with one load: its gate is closed. A deadline
//   is known before the waiter is linked, so its gate is opened then, and releasing it costs an
//   exchange. A stop is rare, but comes at any time: it opens the gates of all that wait
//   (announce), passes a heavy fence, and then leaves those alone that it finds released; a thread
//   that releases a waiter says so (wait_point::cause), passes a light fence and then looks at the
//   gate. One of the two sees the other.
//
// Invariants
//   GA1  a thread inside holds no lock of the object when it waits, and waits for nothing else.
//   GA2  when shut() has returned, no visitor enters the object on behalf of this waiter, or ever
//   will.
//
// Tried and rejected: see docs/decisions/0011. Checked by gate_model.cpp and wait_point_test.cpp.
//
// Fences of [s.gate]: cancel, shut, withdraw_all.
#ifndef THRUM_DETAIL_SCHED_RUN_GATE_HPP
#define THRUM_DETAIL_SCHED_RUN_GATE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

/// What came of an attempt to take a waiter out of its object.
enum class withdrawal : std::uint8_t {
  busy,     // another thread holds the object's lock
  refused,  // another thread has released the waiter, or is about to
  done,     // it is out, and ours to wake
};

template <class Traits>
class basic_gate {
 public:
  /// Called by the waiter, before others can find it: its timer will come when its time is over.
  void open() noexcept {
    word_.store(state::open, relaxed);  // relaxed: published by the object's lock
  }

  /// Called by the stop, before its heavy fence.
  void announce() noexcept {
    state expected = state::closed;
    // relaxed: ordered by the fence of [s.gate] in withdraw_all
    word_.compare_exchange_strong(expected, state::open, relaxed, relaxed);
  }

  /// Makes attempt() inside the gate, again as long as it says `busy`. `refused` also if the gate
  /// is not open, or is shut meanwhile.
  template <class Attempt>
  withdrawal visit(Attempt attempt) noexcept {
    state expected = state::open;
    // relaxed: the object's lock orders what is done inside; failing, nothing is
    if (!word_.compare_exchange_strong(expected, state::inside, relaxed, relaxed)) {
      return withdrawal::refused;
    }
    withdrawal outcome = attempt();
    for (std::uint32_t turn = 0; outcome == withdrawal::busy; ++turn) {
      if (word_.load(relaxed) == state::shut) {
        outcome = withdrawal::refused;
        break;
      }
      Traits::back_off(turn);
      outcome = attempt();  // GA1: it only tries for the lock
    }
    expected = state::inside;
    // If the waiter is out, no thread will release it: no other visitor may come after us.
    // [gate.word >] release: our last look at the object; sees: shut_slow. relaxed: it was shut
    // meanwhile
    if (outcome == withdrawal::done ||
        !word_.compare_exchange_strong(expected, state::closed, release, relaxed)) {
      word_.store(state::left, release);  // [gate.word >] release: our last look
    }
    return outcome;
  }

  /// GA2. Called by the thread that releases the waiter, with the object's lock held, after it has
  /// recorded the release.
  THRUM_INLINE void shut() noexcept {
    // [s.gate =] released before the gate is read; pairs with stop()'s fence
    Traits::light_fence();
    // [gate.word <] acquire: the last look of the thread inside, which found nothing to do.
    if (word_.load(acquire) != state::closed) [[unlikely]] {
      shut_slow();
    }
  }

 private:
  enum class state : std::uint8_t { closed, open, inside, shut, left };

  THRUM_COLD void shut_slow() noexcept {
    // [gate.word <] acquire: the visitor's last look at the object, before it may go.
    if (word_.exchange(state::shut, acquire) != state::inside) {
      return;
    }
    // [gate.word <] acquire: the visitor's last look.
    for (std::uint32_t turn = 0; word_.load(acquire) != state::left; ++turn) {
      Traits::back_off(turn);
    }
  }

  typename Traits::template atomic<state> word_{state::closed};
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
