// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a goroutine waits: park, wait, sleep. Yielding is in yield.hpp.
//
// Everything above this floor that blocks does so by wait(), wait_for_ever() or sleep_until(): an object
// that keeps wait points, under its own lock. park() itself is for what has no lock. A caller that is not a
// goroutine blocks its thread in the same functions.
#ifndef THRUM_DETAIL_SCHED_RUN_PARK_HPP
#define THRUM_DETAIL_SCHED_RUN_PARK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/host/host.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/run/arm.hpp>
#include <thrum/detail/sched/run/stop_relay.hpp>
#include <thrum/detail/sched/run/switch.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

static_assert(no_deadline == timer_heap<traits>::never);

/// Called for each goroutine that is about to park, if it is set: see debug/mutex_watch.hpp.
inline constinit base::set_once<void (*)(goroutine_id id, std::string_view name)> observe_park{
    nullptr};

// ---- park --------------------------------------------------------------------------------------

/// park(), in one piece with its caller: for wait_for_ever(). That two goroutines may then have left by calls
/// of different functions costs nothing: where what they wait on differs, the returns of one of the functions
/// above are mispredicted in any case (a request and a reply of two types: 79 ns so, 80 by one function).
THRUM_INLINE void park_inlined(section& here, wait_reason reason, commit_function commit,
                               void* argument) noexcept {
  machine& m = here.this_m();
  goroutine& g = *m.g;
  g.reason.set(reason);
  g.parked_ms.set(m.scheduler->coarse_ms.get());
  g.status.set(g_status::waiting);
  here.moved_to(leave(m, take_next(m), commit, argument));
}

/// Parks the running goroutine. `commit` publishes it, once its stack is left; the code
/// that takes it out again calls ready(). Returns when that has happened; `here` is then on the M
/// that it runs on.
inline void park(section& here, wait_reason reason, commit_function commit,
                 void* argument) noexcept {
  park_inlined(here, reason, commit, argument);
}

// ---- cancellation ------------------------------------------------------------------------------

/// May this wait be cancelled? Not while an exception unwinds the stack: the cancellation would
/// throw another one out of a destructor.
THRUM_INLINE bool may_cancel(const machine& m) noexcept {
  if (m.g->uncancellable != 0) [[unlikely]] {
    return false;
  }
  if constexpr (THRUM_EXCEPTIONS) {
    return m.exceptions->uncaught == 0;
  } else {
    return true;
  }
}

/// Must a wait that may be cancelled end at once?
THRUM_INLINE bool must_exit(const machine& m) noexcept {
  // [s.stop =] g.withdrawable before the flag; pairs with stop()'s heavy one
  traits::light_fence();
  return m.g->exiting || m.scheduler->ending.has_begun();
}

/// W4: the point may be forgotten once this has returned.
THRUM_INLINE void end_withdrawable(goroutine& g, wake_cause cause) noexcept {
  g.withdrawable.store(nullptr, relaxed);  // relaxed: ordered by the fence of [s.stop]
  traits::light_fence();                   // [s.stop =] cleared before the announcement is read
  g.scheduler->ending.wait_for_looks();
  if (cause == wake_cause::cancelled) {
    g.exiting = true;
  }
}

// ---- wait --------------------------------------------------------------------------------------

struct wait_options {
  wait_reason reason = wait_reason::none;
  bool cancellable = true;
  std::int64_t deadline = no_deadline;
};

template <class Lock>
bool commit_unlock(machine&, goroutine&, void* lock) noexcept {
  static_cast<Lock*>(lock)->unlock();
  return true;
}

/// A goroutine's timer has ended a wait that had a deadline.
inline void time_out(basic_timer<traits>& timer, bool first) noexcept {
  auto& g = static_cast<goroutine&>(timer);
  wait_point& point = *g.timed_point;
  if (withdraw_in_time(point)) {
    ready(g, first);  // of those that are due together, the others queue up in their order
  }
}

template <class Lock>
struct timed_commit {
  Lock* held;
  std::int64_t deadline;
};

template <class Lock>
bool commit_arm_and_unlock(machine& m, goroutine& g, void* argument) noexcept {
  const auto timed = *static_cast<timed_commit<Lock>*>(argument);
  g.fire = &time_out;
  const auto added = m.p->timers.add(g, timed.deadline);
  timed.held->unlock();
  announce_timer(m, added, timed.deadline);
  return true;
}

/// The time from `now` to a deadline that may be further back than can be counted.
constexpr std::int64_t time_left(std::int64_t deadline, std::int64_t now) noexcept {
  return deadline <= now ? 0 : deadline - now;
}

/// Whether a host runs goroutines while it waits so: not for locks, which their holders want back.
constexpr bool may_help(wait_reason reason) noexcept {
  return reason != wait_reason::mutex_lock && reason != wait_reason::shared_mutex_lock &&
         reason != wait_reason::shared_mutex_lock_shared && reason != wait_reason::once_wait;
}

/// An OS thread waits; one that is a host runs goroutines meanwhile.
THRUM_COLD inline void wait_as_thread(wait_point& point, std::int64_t deadline,
                                      wait_reason reason) noexcept {
  auto ended = help_end::none;
  // [ho.help <] acquire: nothing is published by it
  if (auto* const help = os::process_wide<host_threads>::get().help.load(acquire);
      help != nullptr && may_help(reason)) [[unlikely]] {
    ended = help(point.note, deadline);
  }
  if (ended == help_end::event) {
    return;
  }
  if (deadline == no_deadline) {
    point.note.sleep();
    return;
  }
  if (point.note.sleep_for(time_left(deadline, traits::now()))) {
    return;
  }
  if (!withdraw_in_time(point)) {
    point.note.sleep();
  }
}

/// A wait until_stopped: shows its point to the relay, waits by blocked(deadline), hides it. The lock
/// is held. If the stop was requested before, the point is taken out here.
template <class Lock, class Blocked>
THRUM_COLD wake_cause wait_until_stopped(section& here, wait_point& point, Lock& held,
                                         Blocked blocked) noexcept {
  stop_relay& stop = *current_stop_relay(here);
  const bool shown = stop.show(point);
  if (!shown && point.withdraw(point, true) == withdrawal::done) {
    settle(point, wake_cause::timed_out);
    held.unlock();
    return wake_cause::timed_out;
  }
  blocked(stop.deadline);
  if (shown) {
    stop.hide(point);
  }
  return point.cause.get();
}

/// The running goroutine parks until it is woken, or its timer ends the wait.
template <class Lock>
void park_until(section& here, wait_reason reason, wait_point& point, Lock& held,
                std::int64_t deadline) noexcept {
  timed_commit<Lock> timed{&held, deadline};
  goroutine& g = *here.this_m().g;
  g.timed_point = &point;
  park(here, reason, &commit_arm_and_unlock<Lock>, &timed);
  timer_heap<traits>::remove(g);
}

/// The first half of a wait of a goroutine whose point is linked. False: it was cancelled, and the lock
/// is released.
template <class Lock>
THRUM_INLINE bool begin_wait(machine& m, wait_point& point, Lock& held, bool cancellable) noexcept {
  goroutine& g = *m.g;
  trace_detail::waits_on(m, point.object);
  if (const auto observe = observe_park.get()) [[unlikely]] {
    observe(g.id, g.name);
  }
  if (!cancellable) {
    return true;
  }
  // [s.stop >] release: the linked point, to the thread that stops the runtime.
  g.withdrawable.store(&point, release);
  // If it cannot be withdrawn, a waker is about to wake it.
  if (!must_exit(m) || point.withdraw(point, true) != withdrawal::done) [[likely]] {
    return true;
  }
  settle(point, wake_cause::cancelled);
  held.unlock();
  end_withdrawable(g, wake_cause::cancelled);
  return false;
}

/// The second half of a wait, after the goroutine was woken. Returns why the wait has ended.
THRUM_INLINE wake_cause end_wait(goroutine& g, wait_point& point, bool cancellable) noexcept {
  const wake_cause cause = point.cause.get();
  if (cancellable) {
    end_withdrawable(g, cause);
  }
  return cause;
}

/// wait(), for a goroutine, without a deadline, that may be cancelled. In one piece with its caller where
/// that is a hot path: options and a section that lie in memory cost more than what is done with them.
template <class Lock>
THRUM_INLINE wake_cause wait_for_ever(section& here, machine& m, wait_point& point, Lock& held,
                                      wait_reason reason) noexcept {
  goroutine& g = *m.g;
  const bool cancellable = may_cancel(m);
  if (!begin_wait(m, point, held, cancellable)) [[unlikely]] {
    return wake_cause::cancelled;
  }
  park_inlined(here, reason, &commit_unlock<Lock>, &held);
  return end_wait(g, point, cancellable);
}

/// W2 and W4 of wait_point.hpp. The caller holds `held`, has linked `point` and set its `g` from
/// `here` (null for a thread); the lock is released. Returns why the wait has ended; `cancelled`
/// obliges the caller to throw goroutine_exit, outside of the section.
template <class Lock>
wake_cause wait(section& here, wait_point& point, Lock& held,
                const wait_options& options) noexcept {
  machine* const m = here.m();
  // Before the stop can find the point: it may go through the gate at once. A selection is won
  // without a look at its objects.
  if (options.deadline != no_deadline && point.selection == nullptr) {
    point.gate.open();
  }
  if (m == nullptr) [[unlikely]] {
    if (options.deadline == until_stopped) {
      return wait_until_stopped(here, point, held, [&](std::int64_t deadline) noexcept {
        held.unlock();
        wait_as_thread(point, deadline, options.reason);
      });
    }
    held.unlock();
    wait_as_thread(point, options.deadline, options.reason);
    return point.cause.get();
  }
  if (options.deadline == no_deadline && options.cancellable) [[likely]] {
    return wait_for_ever(here, *m, point, held, options.reason);
  }
  goroutine& g = *m->g;
  const bool cancellable = options.cancellable && may_cancel(*m);
  if (!begin_wait(*m, point, held, cancellable)) [[unlikely]] {
    return wake_cause::cancelled;
  }
  if (options.deadline == no_deadline) [[likely]] {
    park(here, options.reason, &commit_unlock<Lock>, &held);
  } else if (options.deadline != until_stopped) {
    park_until(here, options.reason, point, held, options.deadline);
  } else {
    wait_until_stopped(here, point, held, [&](std::int64_t deadline) noexcept {
      if (deadline == no_deadline) {
        park(here, options.reason, &commit_unlock<Lock>, &held);
      } else {
        park_until(here, options.reason, point, held, deadline);
      }
    });
  }
  return end_wait(g, point, cancellable);
}

// ---- sleep -------------------------------------------------------------------------------------

/// A sleeper waits on a lock of its own; only its timer or a stop ends the wait.
inline withdrawal withdraw_sleeper(wait_point& point, bool locked) noexcept {
  return unlink_under(*static_cast<spin_lock*>(point.object), locked, [&]() noexcept {
    const bool asleep = point.linked;
    point.linked = false;
    return asleep;
  });
}

/// Parks the running goroutine, or blocks the calling thread, until `deadline`. Returns `notified`,
/// or `cancelled` as wait() does. However far that is, the sleeper will wake: it is no deadlock.
/// A sleep until_stopped ends with the relay of the caller.
inline wake_cause sleep_until(std::int64_t deadline) noexcept {
  if (deadline > until_stopped) {
    deadline = latest_moment;
  }
  section here;
  if (here.m() == nullptr && deadline != until_stopped) {
    // Looked at once: inside blocking() a virtual clock stands.
    os::sleep_ns(time_left(deadline, traits::now()));
    return wake_cause::notified;
  }
  spin_lock own{lock_rank::sleeper};
  wait_point point;
  point.g = here.g();
  point.object = &own;
  point.withdraw = &withdraw_sleeper;
  point.linked = true;
  own.lock();
  const wake_cause cause = wait(here, point, own, {wait_reason::sleep, true, deadline});
  return cause == wake_cause::cancelled ? cause : wake_cause::notified;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
