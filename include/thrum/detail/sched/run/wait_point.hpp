// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A waiter: a parked goroutine or a blocked OS thread behind one small type.
//
// Purpose
//   Every primitive keeps lists of wait points and never asks what is behind one. A wait point
//   lives on the stack of the waiter and is gone as soon as that runs again.
//
// The life of a wait
//   W1 the waiter locks its object and links its wait point
//   W2 it leaves its stack; the arriving side unlocks the object (a thread unlocks, then sleeps)
//   W3 a thread that has something for it unlinks it under the object's lock, settles it, unlocks,
//      and calls wake()
//   W4 it runs again
//   Besides W3 three others may end a wait: its timer, a stop (stop_relay.hpp), and the shutdown of
//   its runtime. Each calls `withdraw`, which unlinks the point under the object's lock if it is still
//   linked. So one of them wins, under that lock.
//
// What keeps the object alive while another thread withdraws a point from it
//   The point is linked: the object has a waiter. From W3 on the object may be destroyed, although
//   the waiter does not run yet: so W3 settles the point, which shuts its gate (gate.hpp) while the
//   object is locked. The two go through that gate before they touch the object, and after settle()
//   none is there or will come.
//
// What keeps a wait point alive while another thread withdraws it
//   A timer: before W4 goes on, timer_heap::remove waits until the timer's function has returned.
//   A stop: before W4 goes on, the waiter waits until the stop_relay's word is `told`.
//   The shutdown: it announces itself (`withdrawing`), passes a heavy fence, and only then reads
//   `g.withdrawable`; the waiter clears that word at W4, passes a light fence, and waits on the
//   shutdown's lock if it sees the announcement. By this pair of fences, too, a goroutine that parks
//   while the shutdown begins sees the shutdown or is seen by it. The waiter's side
//   costs a store and a load; a claim word that every wake-up must win would cost a locked
//   instruction each.
//
// A wait on several objects at once has a point on each, and a gate for all; see selection_state.
//
// Invariants
//   WP1  cause is written before wake(), by the thread that unlinked the point: by settle() at W3.
//   WP2  after wake() the waker touches neither the point nor its goroutine.
//   WP3  settle() comes before anything by which another may learn that the point is out: before
//        the object is unlocked; or before wake(), where the waiter itself goes back to the object
//        (a mutex), which therefore stands until it has run.
#ifndef THRUM_DETAIL_SCHED_RUN_WAIT_POINT_HPP
#define THRUM_DETAIL_SCHED_RUN_WAIT_POINT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/gate.hpp>
#include <thrum/detail/sched/run/ready.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Why a wait has ended.
enum class wake_cause : std::uint8_t {
  none,       // it has not
  notified,   // what was waited for came
  closed,     // it can no longer come
  timed_out,  // the deadline passed first
  cancelled,  // the runtime stops
  retry,      // what was waited for may have changed: look again
};

struct selection_state;

struct wait_point : base::list_node<wait_point> {
  /// Takes the point out of whatever it waits on, under that object's lock, which the function
  /// tries to take unless `locked`. Called inside the gate, or by the waiter itself.
  using withdraw_function = withdrawal (*)(wait_point&, bool locked) noexcept;

  wait_point() = default;
  /// The point of a goroutine that waits on `on`, from which `take_out` withdraws it.
  wait_point(goroutine* waits, void* on, withdraw_function take_out) noexcept
      : g(waits), withdraw(take_out), object(on) {}

  goroutine* g = nullptr;  // null: an OS thread, or a callback_point
  one_writer<wake_cause> cause{wake_cause::none};
  basic_gate<traits> gate;
  withdraw_function withdraw = nullptr;
  void* object = nullptr;                // for withdraw; of a callback_point, itself
  void* slot = nullptr;                  // where a value comes from or goes to
  selection_state* selection = nullptr;  // of which it is one of several
  os::note note;                         // for an OS thread
};

/// A point without a waiter: to wake it is to call its function, without a lock. So an object that is no
/// channel can report an event to a goroutine that waits on a channel. Its owner takes it out under the
/// object's lock, as any point. If the point is out already, the owner waits until the function was called.
struct callback_point : wait_point {
  using callback_function = void (*)(callback_point&) noexcept;
  /// An ordinary point, whose function is not looked at.
  callback_point() noexcept {}
  /// Null: an ordinary point after all.
  explicit callback_point(callback_function function) noexcept : call(function) {
    object = function != nullptr ? static_cast<wait_point*>(this) : nullptr;
  }

  /// It waits on no object: it leads to itself.
  static bool is_one(const wait_point& point) noexcept { return point.object == &point; }

  /// The point may be gone when this returns (WP2).
  callback_function call;
};

/// One wait on several objects (select): a point is linked on each of them, and a thread that
/// unlinks one to serve it must first win the selection. The other points are stale from then on; a
/// thread that meets one drops it, and the waiter unlinks the rest before it goes on.
struct selection_state {
  /// Linked nowhere: what the timer and the shutdown withdraw, and where a thread sleeps.
  wait_point self;
  atomic<wait_point*> winner{nullptr};

  /// Whether `by` ends the wait; false if something else has.
  bool win(wait_point& by) noexcept {
    wait_point* none = nullptr;
    // [sel.win <>] acq_rel: one wins; its writes to the point are published by wake().
    return winner.compare_exchange_strong(none, &by, std::memory_order_acq_rel,
                                          std::memory_order_relaxed);  // relaxed: another has won
  }
  bool is_won() const noexcept {
    return winner.load(std::memory_order_acquire) != nullptr;  // [sel.win <] acquire: no hurry
  }

  /// `self.object` is a lock that the waiter holds until it has left its stack. Before that no thread
  /// may win, for the winner makes the waiter runnable.
  template <class Lock>
  static withdrawal withdraw(wait_point& self, bool locked) noexcept {
    if (!locked) {
      auto& held = *static_cast<Lock*>(self.object);
      if (!held.try_lock()) {
        return withdrawal::busy;
      }
      held.unlock();
    }
    return self.selection->win(self) ? withdrawal::done : withdrawal::refused;
  }
};

/// What a withdraw function does: unlink() under a lock, which is tried for unless `locked`; says
/// whether the point was in.
template <class Lock, class Unlink>
withdrawal unlink_under(Lock& lock, bool locked, Unlink unlink) noexcept {
  // Looked at first: an attempt takes the cache line away from the holder.
  if (!locked && (lock.is_locked() || !lock.try_lock())) {
    return withdrawal::busy;
  }
  const bool was_linked = unlink();
  if (!locked) {
    lock.unlock();
  }
  return was_linked ? withdrawal::done : withdrawal::refused;
}

/// Starts loading the frames of a waiter that will be woken: they lie below its point.
THRUM_INLINE void prefetch_waiter(const wait_point& point) noexcept {
  const char* const at = reinterpret_cast<const char*>(&point);
  __builtin_prefetch(at - 64, 1);
  __builtin_prefetch(at - 128, 1);
  __builtin_prefetch(at - 192, 1);
  __builtin_prefetch(at - 256, 1);
}

/// W3 and WP1, under the object's lock: releases the waiter. Afterwards no visitor enters the object on
/// its behalf.
THRUM_INLINE void settle(wait_point& point, wake_cause cause) noexcept {
  // The stop reads it ordered by the fence of [s.gate] in shut
  point.cause.set(cause);
  point.gate.shut();
}

/// W3 and WP1 for a point that has won its selection: releases the waiter, and shuts the selection's gate.
THRUM_INLINE void settle_selection(wait_point& point, wake_cause cause) noexcept {
  // The stop looks at the winner
  point.cause.set(cause);
  point.selection->self.gate.shut();
}

/// Whether a point needs no withdrawing any more. For the stop, after its heavy fence.
inline bool is_settled(const wait_point& point) noexcept {
  // relaxed: ordered by the fence of [s.gate] in withdraw_all
  return point.selection != nullptr ? point.selection->is_won()
                                    : point.cause.load(relaxed) != wake_cause::none;
}

/// Ends a wait whose time is over, unless another thread has ended it or is about to.
inline bool withdraw_in_time(wait_point& point) noexcept {
  // A selection has been left to others by now (its timer is armed after that, a thread has
  // unlocked all), so it can be won without a look at any object.
  const bool ours =
      point.selection != nullptr ? point.selection->win(point) : point.gate.visit([&]() noexcept {
        return point.withdraw(point, false);
      }) == withdrawal::done;
  if (ours) {
    point.cause.set(wake_cause::timed_out);
  }
  return ours;
}

/// Where an OS thread sleeps.
inline os::note& note_of(wait_point& point) noexcept {
  return (point.selection != nullptr ? point.selection->self : point).note;
}

/// The last step for a point without a goroutine.
THRUM_COLD inline void wake_other(wait_point& point) noexcept {
  if (callback_point::is_one(point)) {
    auto& with_callback = static_cast<callback_point&>(point);
    with_callback.call(with_callback);
  } else {
    note_of(point).wake();
  }
}

/// W3's last step. The point may be gone when this returns (WP2). For several: wake_list.hpp.
inline void wake(wait_point& point) noexcept {
  if (point.g != nullptr) {
    ready(*point.g);
  } else {
    wake_other(point);
  }
}

/// As wake, for a caller that knows its M: it has not switched since it asked.
THRUM_INLINE void wake(machine* m, wait_point& point) noexcept {
  goroutine* const g = point.g;
  if (g != nullptr && m != nullptr && m->scheduler == g->scheduler) [[likely]] {
    trace_detail::readied(m, *g);
    ready_next(*m, *g, g->flags);
  } else {
    wake(point);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
