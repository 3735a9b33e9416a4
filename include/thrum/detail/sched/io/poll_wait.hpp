// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Using a descriptor and waiting for it, while others close it or move its deadlines.
//
// An operation
//   begin   waits for its turn; if the last call took all there was, waits for more at once
//   call    the system call, in user code, outside of any section
//   wait    if the call would block; then call again
//   end     the next one's turn
//
// Deadlines
//   A wait has its goroutine's own timer (park.hpp), so there is none in the descriptor that could
//   fire for a deadline that has been moved. Moving one wakes the waiter, which looks at the clock and
//   waits on, and tells the watchers, which begin again (poll_watch.hpp). (Go keeps two timers in each
//   descriptor, and a sequence number against the late ones.) A deadline that has passed fails every
//   operation until it is moved, even if there is data.
//
// Stops
//   Of the call that waits; they end its wait as a deadline of its own would, and touch nothing else.
//
// Closing
//   Every operation that waits is woken and fails, every later one fails; the closer waits until
//   the last user has left, and only then gives the number back to the system.
//
// In a child process
//   The poller is shared with the parent, the goroutines are copies of which none runs. So a close
//   neither ends the registration, which is the parent's, nor waits for any user. A goroutine
//   that waits there in a runtime of the child's registers the descriptor with that.
//
// Where it is registered: with the poller of the first goroutine that waits, for the descriptor's
// life, or until that runtime ends: then with that of the next. A thread outside of any runtime can
// wait, too; if nothing else has registered the descriptor it asks the system itself, and looks
// every 10 ms whether it was closed.
#ifndef THRUM_DETAIL_SCHED_IO_POLL_WAIT_HPP
#define THRUM_DETAIL_SCHED_IO_POLL_WAIT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// What a wait says besides 0 and the system's errors: the runtime stops, and the caller must throw
/// goroutine_exit, outside of the section.
inline constexpr int io_exit = std::numeric_limits<int>::min();

/// What a wait says if the caller's deadline has passed. No error of the system, which has one of its
/// own for a peer that does not answer.
inline constexpr int io_deadline_exceeded = io_exit + 1;

struct completing_wait;  // io_operation.hpp
struct poll_watch;       // poll_watch.hpp
class wake_list;         // run/wake_list.hpp

/// A waiter for a descriptor that is not ours, and the runtime whose poller it uses. In `turns`.
struct foreign_point : callback_point {
  explicit foreign_point(callback_function function = nullptr) noexcept
      : callback_point(function) {}
  runtime_scheduler* scheduler = nullptr;
  bool is_linked = false;  // or was, for a watch; its owner's
  /// For a watch: the side's deadline that it found (poll_watch.hpp); its owner's.
  std::int64_t deadline = no_deadline;
};

class poll_wait {
 public:
  /// A descriptor for a number, which it owns from now on, in non-blocking mode. Null: no memory.
  static poll_desc* open(os::handle fd) noexcept;

  /// The caller's turn on one side. 0, or: os::cancelled (closed, or the stop of the caller's call:
  /// run/io_deadline.hpp), io_deadline_exceeded, io_exit, or
  /// what the poller says. After anything but 0 there is no end(). `waited`: it was not ready, and
  /// became so.
  static int begin(poll_desc& d, io_side which, bool& waited) noexcept;

  /// Takes the caller's turn on one side without waiting; os::would_block if another caller has it.
  /// Other results as of begin.
  static int begin_at_once(poll_desc& d, io_side which) noexcept;

  /// The call would block: waits until it may not. Results as of begin; end() is due in any case.
  static int wait(poll_desc& d, io_side which) noexcept;

  /// Within a turn: lets time pass until `when`, whatever the poller says. Results as of wait(), 0
  /// after that time.
  static int pause(poll_desc& d, io_side which, std::int64_t when) noexcept;

  /// `drained`: the call took less than it could have, from a stream of which that means that
  /// there is no more. `bytes`: moved since the last go_on().
  static void end(poll_desc& d, io_side which, bool drained, std::size_t bytes) noexcept;

  /// So many bytes were moved, by a call without a turn or by one of several in a turn.
  static void go_on(std::size_t bytes) noexcept;

  /// Keeps the number from being closed until leave(), without a turn on either side. 0 or
  /// os::cancelled (closed); then there is no leave().
  static int enter(poll_desc& d) noexcept;
  static void leave(poll_desc& d) noexcept;

  /// Acts as an event for that side: its waiter, or the next caller to wait there, makes its call again.
  /// Wakes the watchers, too.
  static void make_ready(poll_desc& d, io_side which) noexcept;

  /// Moves a deadline; no_deadline: there is none.
  static void set_deadline(poll_desc& d, io_side which, std::int64_t when) noexcept;

  /// Ends all use. Waits until the last user is out, and returns the number. The caller closes it, not
  /// inside a section, as that may block. os::no_handle: another caller closes it.
  static os::handle end_use(poll_desc& d) noexcept;

  /// Frees the descriptor, after end_use(), when no caller has it any more.
  static void give_back(poll_desc& d) noexcept;

  /// The runtime of that scheduler ends.
  static void detach_all(runtime_scheduler& scheduler) noexcept;

  /// Waits until a descriptor that is not ours can be read or written. `d` is kept for its number.
  ///
  /// Such a descriptor may be closed, and its number reused, while a goroutine waits. The poller notices:
  /// if it has lost a number that was armed there, the number is another file's. Then the waits end with
  /// os::cancelled. No waiter looks at a number after its wait has begun.
  static int wait_foreign(poll_desc& d, os::handle fd, io_side which,
                          std::int64_t deadline) noexcept;

 private:
  friend struct completing_wait;
  friend struct poll_watch;

  static constexpr wait_reason reason_of(io_side which) noexcept {
    return which == io_side::read ? wait_reason::io_read : wait_reason::io_write;
  }

  /// Some libraries wait only after a call that would have blocked: then there is nothing, and a
  /// look at the system only confirms it. Others wait before each of their calls, and mostly it is
  /// ready. The last look tells which kind this is.
  static bool is_worth_a_look(poll_side& side) noexcept;

  /// 0: ready. os::would_block: not. Else what is wrong with the number.
  static int look_foreign(poll_side& side, os::handle fd, io_side which) noexcept;

  /// Has the poller tell the next event of that side of a descriptor that is not ours. 0: it will,
  /// and the lock is held. Without the lock: os::would_block, begin again; else `result` is what
  /// the wait comes to. `armed`: it was before, in this wait; and is from now on.
  static int arm_foreign(poll_desc& d, os::handle fd, io_side which, runtime_scheduler& scheduler,
                         bool& armed, int& result) noexcept;

  /// That poller does not know the number. False: no waiter of it did, either. Else what its
  /// waiters waited for is closed; those of other pollers have to look whether they meant the same.
  [[gnu::cold]] static bool take_of_closed_locked(poll_desc& d, runtime_scheduler& scheduler,
                                                  wake_list& taken) noexcept;

  static runtime_scheduler* own_scheduler() noexcept;

  /// The caller's turn. 0, with the lock; or as begin(), without it.
  static int begin_turn(section& here, poll_desc& d, io_side which) noexcept;
  /// Waits for more on a side whose last call took all there was. The caller has the turn and the lock.
  /// Results as begin(), without the lock.
  static int wait_for_more(section& here, poll_desc& d, io_side which) noexcept;

  /// An M that has a P looks at the poller when it goes idle. One inside blocking() has none, and
  /// if this is the first descriptor, all others may sleep where no event comes.
  [[gnu::cold]] static void call_to_poller(runtime_scheduler& scheduler) noexcept;

  static void prepare(const section& here, wait_point& point, poll_desc& d, io_side which) noexcept;

  static withdrawal withdraw(wait_point& point, bool locked) noexcept;

  static int refusal_locked(const poll_desc& d, const poll_side& side) noexcept;

  /// Releases the lock.
  static void end_locked(poll_desc& d, poll_side& side) noexcept;
  [[gnu::cold]] static int give_up_locked(poll_desc& d, poll_side& side, int error) noexcept;

  /// Wakes `next`, which has been given the turn; or, after the last user, the closer.
  static void unlock_and_wake(poll_desc& d, wait_point* next) noexcept;

  /// In a child process, for the first that waits there: the registration is the parent's,
  /// and on the other side may be copies of the parent's goroutines, which never leave. Releases
  /// the lock.
  [[gnu::cold]] static void forget_parent(poll_desc& d) noexcept;

  /// Asks a poller that must be asked each time for the next event of that side.
  [[gnu::cold]] static void ask_locked(const section& here, poll_desc& d, io_side which) noexcept;

  /// Sees to it that a poller knows the descriptor; none does if the caller has no runtime. 0: with
  /// the lock. Without it: what refuses; os::would_block, things have changed meanwhile.
  static int register_locked(poll_desc& d, io_side which) noexcept;

  /// Releases the lock.
  static int wait_locked(section& here, poll_desc& d, io_side which) noexcept;

  /// A thread without a runtime. 0: ready; os::would_block: look whether it was closed.
  static int wait_with_thread(os::handle fd, io_side which, std::int64_t deadline) noexcept;
};

}}}  // namespace thrum::THRUM_ABI::sched

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/io/io_share.hpp>
#include <thrum/detail/sched/io/poll_close.hpp>  // IWYU pragma: keep: bodies
#include <thrum/detail/sched/io/poll_events.hpp>
#include <thrum/detail/sched/io/poll_foreign.hpp>  // IWYU pragma: keep: bodies
#include <thrum/detail/sched/io/poll_sleep.hpp>    // IWYU pragma: keep: bodies
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/sched/run/park.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE poll_desc* poll_wait::open(os::handle fd) noexcept {
  const section here;
  poll_desc* const d = poll_table::take();
  if (d != nullptr) {
    scoped guard(d->lock);
    d->fd.set(fd);
    d->closing = d->unusual = false;
    for (poll_side& side : d->sides) {
      side.ready = side.drained = false;
      side.deadline = no_deadline;
    }
  }
  return d;
}

THRUM_INLINE int poll_wait::begin_turn(section& here, poll_desc& d, io_side which) noexcept {
  poll_side& side = d.side(which);
  d.lock.lock();
  for (;;) {
    if (const int error = refusal_locked(d, side); error != 0) {
      d.lock.unlock();
      return error;
    }
    if (!side.busy) {
      side.busy = true;
      ++d.users;
      return 0;
    }
    wait_point point;
    prepare(here, point, d, which);
    side.turns.push_back(point);
    const io_deadline deadline(here, side.deadline);
    const wake_cause cause =
        sched::wait(here, point, d.lock, {reason_of(which), true, deadline.until()});
    if (cause == wake_cause::cancelled) {
      return io_exit;
    }
    if (cause == wake_cause::closed || (cause == wake_cause::timed_out && deadline.is_stopped())) {
      return os::cancelled;  // and not counted: by now it may be another one's
    }
    d.lock.lock();
    if (cause == wake_cause::notified) {  // the side is busy in our name
      if (const int error = refusal_locked(d, side); error != 0) {
        return give_up_locked(d, side, error);
      }
      return 0;
    }
  }
}

THRUM_INLINE int poll_wait::wait_for_more(section& here, poll_desc& d, io_side which) noexcept {
  const int error = wait_locked(here, d, which);
  poll_side& side = d.side(which);
  side.drained = false;
  if (error != 0) [[unlikely]] {
    d.lock.lock();
    return give_up_locked(d, side, error);
  }
  return 0;
}

THRUM_OUT_OF_LINE int poll_wait::begin(poll_desc& d, io_side which, bool& waited) noexcept {
  section here;
  if (const int error = begin_turn(here, d, which); error != 0) {
    return error;
  }
  poll_side& side = d.side(which);
  waited = side.drained && !side.ready;
  if (!waited) {
    side.ready = side.drained = false;
    d.lock.unlock();
    return 0;
  }
  return wait_for_more(here, d, which);
}

THRUM_OUT_OF_LINE int poll_wait::begin_at_once(poll_desc& d, io_side which) noexcept {
  const section here;
  const scoped guard(d.lock);
  poll_side& side = d.side(which);
  if (const int error = refusal_locked(d, side); error != 0 || side.busy) {
    return error != 0 ? error : os::would_block;
  }
  side.busy = true;
  ++d.users;
  side.ready = side.drained = false;
  return 0;
}

THRUM_OUT_OF_LINE void poll_wait::end(poll_desc& d, io_side which, bool drained,
                                      std::size_t bytes) noexcept {
  section here;
  poll_side& side = d.side(which);
  d.lock.lock();
  side.drained = drained && !d.unusual;
  end_locked(d, side);
  end_io(here, bytes);
}

THRUM_OUT_OF_LINE void poll_wait::go_on(std::size_t bytes) noexcept {
  section here;
  end_io(here, bytes);
}

THRUM_OUT_OF_LINE int poll_wait::enter(poll_desc& d) noexcept {
  const section here;
  const scoped guard(d.lock);
  if (d.closing) {
    return os::cancelled;
  }
  ++d.users;
  return 0;
}

THRUM_OUT_OF_LINE void poll_wait::leave(poll_desc& d) noexcept {
  const section here;
  d.lock.lock();
  --d.users;
  unlock_and_wake(d, nullptr);
}

THRUM_OUT_OF_LINE void poll_wait::make_ready(poll_desc& d, io_side which) noexcept {
  const section here;
  wake_list taken;
  {
    scoped guard(d.lock);
    make_ready_locked(d.side(which), taken);
  }
  taken.wake_all();
}

THRUM_OUT_OF_LINE void poll_wait::set_deadline(poll_desc& d, io_side which,
                                               std::int64_t when) noexcept {
  const section here;
  wake_list taken;
  {
    scoped guard(d.lock);
    poll_side& side = d.side(which);
    side.deadline = when;
    taken.push_back(take_waiter_locked(side, wake_cause::retry));
    take_turns_locked(side, wake_cause::retry, taken);
    take_watchers_locked(side, wake_cause::retry, taken);
  }
  taken.wake_all();
}

THRUM_OUT_OF_LINE void poll_wait::prepare(const section& here, wait_point& point, poll_desc& d,
                                          io_side which) noexcept {
  point.g = here.g();
  point.object = &d;
  point.slot = &d.side(which);
  point.withdraw = &withdraw;
}

THRUM_OUT_OF_LINE withdrawal poll_wait::withdraw(wait_point& point, bool locked) noexcept {
  auto& d = *static_cast<poll_desc*>(point.object);
  auto& side = *static_cast<poll_side*>(point.slot);
  return unlink_under(d.lock, locked, [&]() noexcept {
    const bool waits = side.waiter == &point;
    const bool ours = waits || point.linked;
    if (waits) {
      side.waiter = nullptr;
    } else if (ours) {
      side.turns.remove(point);
    }
    return ours;
  });
}

THRUM_OUT_OF_LINE int poll_wait::refusal_locked(const poll_desc& d,
                                                const poll_side& side) noexcept {
  if (d.closing) {
    return os::cancelled;
  }
  return side.deadline != no_deadline && side.deadline <= traits::now() ? io_deadline_exceeded : 0;
}

THRUM_INLINE void poll_wait::end_locked(poll_desc& d, poll_side& side) noexcept {
  wait_point* next = side.turns.pop_front();
  if (next != nullptr) {
    settle(*next, wake_cause::notified);  // busy, and counted, in its name
  } else {
    side.busy = false;
    --d.users;
  }
  unlock_and_wake(d, next);
}

THRUM_OUT_OF_LINE int poll_wait::give_up_locked(poll_desc& d, poll_side& side, int error) noexcept {
  end_locked(d, side);
  return error;
}

THRUM_OUT_OF_LINE void poll_wait::unlock_and_wake(poll_desc& d, wait_point* next) noexcept {
  if (d.users == 0 && d.closer != nullptr) {
    next = d.closer;
    d.closer = nullptr;
    settle(*next, wake_cause::notified);
  }
  d.lock.unlock();
  if (next != nullptr) {
    wake(*next);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched
#endif

#endif
