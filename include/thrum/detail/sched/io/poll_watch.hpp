// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Learning when a descriptor is ready, without waiting for it: what a select does that has other
// cases besides.
//
// The watcher's point is linked beside the user of a descriptor and takes no turn: an event reaches
// both. If the descriptor is not ours, the point is linked among the waiters, and one event reaches all
// of them: the poller is asked for one at a time, so those that it was not for begin again
// (wake_cause::retry).
//
// No lost edge: the point is linked first, and then the system is asked.
//
// Deadlines: of the side, as for its user. begin() says in the point which one it found, under the lock
// that it is linked under, and the owner begins again at that moment; moving it tells the point
// (wake_cause::retry). So a deadline that has passed is found by a begin(), which says `ready`.
#ifndef THRUM_DETAIL_SCHED_IO_POLL_WATCH_HPP
#define THRUM_DETAIL_SCHED_IO_POLL_WATCH_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>
#include <thrum/detail/sched/io/poll_wait.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct poll_watch {
  enum class outcome : std::uint8_t {
    told,     // the point is linked, and will be told
    ready,    // a call would not block, or would fail at once; the point may be linked
    unknown,  // not ready, and no poller knows the descriptor: look again
  };

  /// Watches a descriptor of ours, which stays alive until end(). Unless `ready`, the point's deadline is
  /// the side's.
  static outcome begin(poll_desc& d, io_side which, foreign_point& point) noexcept;

  /// Watches a descriptor that is not ours; `d` is kept for its number.
  static outcome begin_foreign(poll_desc& d, os::handle fd, io_side which,
                               foreign_point& point) noexcept;

  /// Takes the point out. False: it was not in; if it is_linked, it has been told or is about to be.
  static bool end(poll_desc& d, io_side which, foreign_point& point) noexcept;

 private:
  static outcome look(os::handle fd, io_side which, outcome if_not) noexcept;
};

}}}  // namespace thrum::THRUM_ABI::sched

#if THRUM_BODIES
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/queue/lock.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE poll_watch::outcome poll_watch::look(os::handle fd, io_side which,
                                                       outcome if_not) noexcept {
  os::io_result seen;
  do {
    seen = os::wait_for(fd, which == io_side::write, 0);
  } while (seen == os::interrupted);
  return seen == 0 ? if_not : outcome::ready;
}

THRUM_OUT_OF_LINE poll_watch::outcome poll_watch::begin(poll_desc& d, io_side which,
                                                        foreign_point& point) noexcept {
  section here;
  int error = 0;
  do {
    d.lock.lock();
    error = poll_wait::register_locked(d, which);
  } while (error == os::would_block);
  if (error != 0) {
    return outcome::ready;
  }
  runtime_scheduler* const scheduler = d.scheduler;
  point.deadline = d.side(which).deadline;
  if (scheduler != nullptr) {
    if (netpoll::asks_each_time(scheduler->poller)) {
      poll_wait::ask_locked(here, d, which);
    }
    point.is_linked = true;
    d.side(which).watchers.push_back(point);
  }
  ++d.users;
  const os::handle fd = d.handle();
  d.lock.unlock();
  const outcome found = look(fd, which, scheduler != nullptr ? outcome::told : outcome::unknown);
  poll_wait::leave(d);
  if (found == outcome::told && here.m() == nullptr) {
    poll_wait::call_to_poller(*scheduler);
  }
  return found;
}

THRUM_OUT_OF_LINE poll_watch::outcome poll_watch::begin_foreign(poll_desc& d, os::handle fd,
                                                                io_side which,
                                                                foreign_point& point) noexcept {
  if (look(fd, which, outcome::told) == outcome::ready) {
    return outcome::ready;
  }
  section here;
  runtime_scheduler* const scheduler = poll_wait::own_scheduler();
  if (scheduler == nullptr) {
    return outcome::unknown;
  }
  bool armed = false;
  int result = 0;
  int error = 0;
  do {
    error = poll_wait::arm_foreign(d, fd, which, *scheduler, armed, result);
  } while (error == os::would_block);
  if (error != 0) {
    return outcome::ready;
  }
  point.scheduler = scheduler;
  point.is_linked = true;
  d.side(which).turns.push_back(point);
  d.lock.unlock();
  if (here.m() == nullptr) {
    poll_wait::call_to_poller(*scheduler);
  }
  return outcome::told;
}

THRUM_OUT_OF_LINE bool poll_watch::end(poll_desc& d, io_side which, foreign_point& point) noexcept {
  const section here;
  const scoped guard(d.lock);
  if (!point.linked) {
    return false;
  }
  poll_side& side = d.side(which);
  (point.scheduler != nullptr ? side.turns : side.watchers).remove(point);
  return true;
}

}}}  // namespace thrum::THRUM_ABI::sched
#endif

#endif
