// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sched/io/poll_watch.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SCHED_IO_POLL_WATCH_DEFINITION_HPP
#define THRUM_SCHED_IO_POLL_WATCH_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/netpoll/contract.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/core/scheduler.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/io/poll_desc.hpp>
#include <thrum/sched/io/poll_wait.hpp>
#include <thrum/sched/io/poll_watch.hpp>
#include <thrum/sched/queue/lock.hpp>

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
