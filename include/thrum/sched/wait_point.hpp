// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Who waits: a parked goroutine or a blocked OS thread behind one small type.
//
// Purpose
//   Every primitive keeps lists of wait points and never asks what is behind one. A wait point
//   lives on the stack of whoever waits and is gone as soon as that runs again.
//
// The life of a wait
//   W1 the waiter locks its object and links its wait point
//   W2 it leaves its stack; the arriving side unlocks the object (a thread unlocks, then sleeps)
//   W3 whoever has something for it unlinks it under the object's lock, sets `cause`, unlocks, and
//      calls wake()
//   W4 it runs again
//   Besides W3 there are two others who may end a wait: its timer and the shutdown of its runtime.
//   Both call `withdraw`, which locks the object and unlinks the point if it is still linked. So
//   one of them wins, under the object's lock, and nobody needs a second atomic word for it.
//
// What keeps a wait point alive while somebody withdraws it
//   A timer: before W4 goes on, timer_heap::remove waits until the timer's function has returned.
//   The shutdown: it announces itself (`withdrawing`), passes a heavy fence, and only then reads
//   `g.withdrawable`; the waiter clears that word at W4, passes a light fence, and waits on the
//   shutdown's lock if it sees the announcement. The same pair of fences makes sure that a
//   goroutine that parks while the shutdown begins is seen by it or sees it. The waiter's side
//   costs a store and a load; a claim word that every wake-up must win would cost a locked
//   instruction each.
//
// A wait on several objects at once has a point on each; see basic_selection.
//
// Invariants
//   WP1  cause is written before wake(), by whoever unlinked the point.
//   WP2  after wake() the waker touches neither the point nor its goroutine.
#ifndef THRUM_SCHED_WAIT_POINT_HPP
#define THRUM_SCHED_WAIT_POINT_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_list.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/g.hpp>
#include <thrum/sched/ready.hpp>

#include <cstdint>

namespace thrum::inline THRUM_ABI::sched {

/// Why a wait has ended.
enum class wake_cause : std::uint8_t {
  none,       // it has not
  notified,   // what was waited for came
  closed,     // it can no longer come
  timed_out,  // the deadline passed first
  cancelled,  // the runtime stops
  retry,      // what was waited for may have changed: look again
};

template <class Traits>
struct basic_selection;

template <class Traits>
struct basic_wait_point : base::list_node<basic_wait_point<Traits>> {
  /// Takes the point out of whatever it waits on, under that object's lock, which the function
  /// takes unless `locked`. False: somebody else has taken it out and is about to wake it.
  using withdraw_function = bool (*)(basic_wait_point&, bool locked) noexcept;

  basic_g<Traits>* g = nullptr;  // null: an OS thread
  wake_cause cause = wake_cause::none;
  withdraw_function withdraw = nullptr;
  void* object = nullptr;                        // for withdraw
  void* slot = nullptr;                          // where a value comes from or goes to
  basic_selection<Traits>* selection = nullptr;  // of which it is one of several
  os::note note;                                 // for an OS thread
};

/// One wait on several objects (select): a point is linked on each of them, and whoever unlinks one
/// to serve it must first win the selection. The other points are stale from then on; whoever meets
/// one drops it, and the waiter unlinks the rest before it goes on.
template <class Traits>
struct basic_selection {
  using point = basic_wait_point<Traits>;

  /// Linked nowhere: what the timer and the shutdown withdraw, and where a thread sleeps.
  point self;
  typename Traits::template atomic<point*> winner{nullptr};

  /// Whether `by` ends the wait; false if something else has.
  bool win(point& by) noexcept {
    point* none = nullptr;
    // [sel.win] acq_rel: one wins; its writes to the point are published by wake().
    return winner.compare_exchange_strong(none, &by, std::memory_order_acq_rel,
                                          std::memory_order_relaxed);  // relaxed: lost
  }
  bool is_won() const noexcept {
    return winner.load(std::memory_order_acquire) != nullptr;  // [sel.win] acquire: no hurry
  }

  /// `self.object` is a lock that the waiter holds until it has left its stack: before that nobody
  /// may win, for the winner makes it runnable.
  template <class Lock>
  static bool withdraw(point& self, bool locked) noexcept {
    if (!locked) {
      auto& held = *static_cast<Lock*>(self.object);
      held.lock();
      held.unlock();
    }
    return self.selection->win(self);
  }
};

/// W3's last step. The point may be gone when this returns.
template <class Traits>
void wake(basic_wait_point<Traits>& point) noexcept {
  if (point.g != nullptr) {
    ready(*point.g);
  } else {
    (point.selection != nullptr ? point.selection->self : point).note.wake();
  }
}

/// The same for a chain of points through `next`, without any lock. Each is gone once it is woken.
template <class Traits>
void wake_chain(basic_wait_point<Traits>* chain) noexcept {
  while (chain != nullptr) {
    basic_wait_point<Traits>* const point = chain;
    chain = point->next;
    wake(*point);
  }
}

/// As wake, for a caller that knows its M: as from parking_m(), and no switch since.
template <class Traits>
void wake(basic_m<Traits>* m, basic_wait_point<Traits>& point) noexcept {
  basic_g<Traits>* const g = point.g;
  if (g != nullptr && m != nullptr && m->scheduler == g->scheduler) [[likely]] {
    ready_on(*m, *g, true);
  } else {
    wake(point);
  }
}

}  // namespace thrum::inline THRUM_ABI::sched

#endif
