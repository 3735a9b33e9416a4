// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// An operation that the system completes by itself, and the goroutine that waits for it.
//
// It lies on the goroutine's stack. `finish` marks it as done under the lock, and touches nothing of
// it after that: a goroutine that was about to give up finds it done, and may be gone.
//
// IO1  the goroutine does not return before its operation is done: until then the system may write
//      into the buffer.
//
// A watcher of the side (poll_watch.hpp) learns nothing of it: others cannot have what it has taken,
// and the system reports to them what it has left.
#ifndef THRUM_DETAIL_SCHED_IO_IO_OPERATION_HPP
#define THRUM_DETAIL_SCHED_IO_IO_OPERATION_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct io_operation : netpoll::operation {
  spin_lock* lock = nullptr;      // over the members below, and `*waiter`
  wait_point** waiter = nullptr;  // where its waiter is noted; null there: none waits
  std::int64_t result = 0;
  bool done = false;

  /// What the poller calls.
  static void end(netpoll::operation& self, netpoll::sink& to, std::int64_t result) noexcept;
};

/// What poll_wait does, for calls that the system may complete by itself. Where the poller completes
/// nothing, or the caller is no goroutine, all of it is as there.
struct completing_wait {
  /// As poll_wait::begin. `would_block`: the last call took all there was, and nothing was waited
  /// for: receive() is next.
  static int begin(poll_desc& d, io_side which, bool& would_block) noexcept;

  /// Within a turn, in place of a call that would block: the bytes that it received, or results as of
  /// poll_wait::wait(), of which 0 says that the call is to be made again.
  static std::int64_t receive(poll_desc& d, std::span<std::byte> buffer) noexcept;

  /// Without a turn and without regard to deadlines, as a call that blocks a thread. The caller has
  /// entered. os::would_block: the system does not complete it.
  static std::int64_t complete_alone(io_operation& what) noexcept;

 private:
  /// The caller's, if it is a goroutine whose poller completes operations.
  static runtime_scheduler* scheduler_of(const section& here) noexcept;

  /// Has the poller do it, while the caller is parked. Called with the lock, returns without it.
  static std::int64_t complete_locked(section& here, runtime_scheduler& scheduler, poll_desc& d,
                                      io_side which, io_operation& what) noexcept;
};

}}}  // namespace thrum::THRUM_ABI::sched

#if THRUM_BODIES
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/io/poll_events.hpp>
#include <thrum/detail/sched/io/poll_wait.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/sched/run/leave_poller.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/poll_sink.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE void io_operation::end(netpoll::operation& self, netpoll::sink& to,
                                         std::int64_t result) noexcept {
  auto& of = static_cast<io_operation&>(self);
  wait_point* point;
  {
    scoped guard(*of.lock);
    of.result = result;
    of.done = true;
    point = *of.waiter;
    *of.waiter = nullptr;
    if (point != nullptr) {
      settle(*point, wake_cause::notified);
    }
  }
  if (point != nullptr && point->g != nullptr) {
    wake_through(static_cast<poll_sink&>(to), *point->g);
  } else if (point != nullptr) {
    wake(*point);
  }
}

THRUM_OUT_OF_LINE runtime_scheduler* completing_wait::scheduler_of(const section& here) noexcept {
  const machine* const m = here.m();
  return m != nullptr && netpoll::completes(m->scheduler->poller) ? m->scheduler : nullptr;
}

THRUM_OUT_OF_LINE int completing_wait::begin(poll_desc& d, io_side which,
                                             bool& would_block) noexcept {
  section here;
  if (const int error = poll_wait::begin_turn(here, d, which); error != 0) {
    return error;
  }
  poll_side& side = d.side(which);
  would_block = side.drained && !side.ready;
  if (would_block && scheduler_of(here) == nullptr) {
    would_block = false;
    return poll_wait::wait_for_more(here, d, which);
  }
  side.ready = side.drained = false;
  d.lock.unlock();
  return 0;
}

THRUM_OUT_OF_LINE std::int64_t completing_wait::receive(poll_desc& d,
                                                        std::span<std::byte> buffer) noexcept {
  section here;
  d.lock.lock();
  runtime_scheduler* const scheduler = scheduler_of(here);
  if (scheduler == nullptr) {
    return poll_wait::wait_locked(here, d, io_side::read);
  }
  if (const int error = poll_wait::register_locked(d, io_side::read); error != 0) {
    return error == os::would_block ? 0 : error;
  }
  io_operation what;
  what.fd = d.handle();
  what.data = buffer.data();
  what.size = buffer.size();
  return complete_locked(here, *scheduler, d, io_side::read, what);
}

THRUM_OUT_OF_LINE std::int64_t completing_wait::complete_locked(section& here,
                                                                runtime_scheduler& scheduler,
                                                                poll_desc& d, io_side which,
                                                                io_operation& what) noexcept {
  poll_side& side = d.side(which);
  what.lock = &d.lock;
  what.waiter = &side.waiter;
  what.finish = &io_operation::end;
  what.done = false;
  netpoll::start(scheduler.poller, what);
  note_wait_for_event(here.this_m());
  int ended_by = 0;
  while (!what.done) {
    wait_point point;
    poll_wait::prepare(here, point, d, which);
    side.waiter = &point;
    if (ended_by != 0) {  // IO1
      sched::wait(here, point, d.lock, {poll_wait::reason_of(which), false});
      d.lock.lock();
      continue;
    }
    const io_deadline deadline(here, side.deadline);
    const wake_cause cause =
        sched::wait(here, point, d.lock, {poll_wait::reason_of(which), true, deadline.until()});
    d.lock.lock();
    if (what.done) {
      continue;
    }
    ended_by = cause == wake_cause::cancelled ? io_exit : poll_wait::refusal_locked(d, side);
    if (ended_by == 0 && cause == wake_cause::timed_out && deadline.is_stopped()) {
      ended_by = os::cancelled;
    }
    if (ended_by != 0) {  // else the deadline was moved
      netpoll::cancel(scheduler.poller, what);
    }
  }
  d.lock.unlock();
  // What has come nevertheless is not lost.
  if (what.result == os::interrupted && ended_by != 0) {
    return ended_by;
  }
  return what.result;
}

THRUM_OUT_OF_LINE std::int64_t completing_wait::complete_alone(io_operation& what) noexcept {
  section here;
  runtime_scheduler* const scheduler = scheduler_of(here);
  if (scheduler == nullptr) {
    return os::would_block;
  }
  note_wait_for_event(here.this_m());
  spin_lock own{lock_rank::descriptor};
  wait_point point;
  wait_point* waiter = &point;
  point.g = here.g();
  what.lock = &own;
  what.waiter = &waiter;
  what.finish = &io_operation::end;
  what.done = false;
  own.lock();
  netpoll::start(scheduler->poller, what);
  sched::wait(here, point, own, {wait_reason::io_read, false});
  return what.result;
}

}}}  // namespace thrum::THRUM_ABI::sched
#endif

#endif
