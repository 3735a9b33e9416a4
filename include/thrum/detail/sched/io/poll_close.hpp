// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// poll_wait's bodies that end the use of a descriptor: closing it, giving it back, leaving the poller of
// a runtime that ends or of the parent process.
#ifndef THRUM_DETAIL_SCHED_IO_POLL_CLOSE_HPP
#define THRUM_DETAIL_SCHED_IO_POLL_CLOSE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/io/poll_events.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>
#include <thrum/detail/sched/io/poll_wait.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/detail/sched/run/wake_list.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE os::handle poll_wait::end_use(poll_desc& d) noexcept {
  section here;
  wake_list taken;
  bool is_copy;
  {
    scoped guard(d.lock);
    if (d.closing) {
      return os::no_handle;
    }
    d.closing = true;
    is_copy = d.scheduler != nullptr && d.scheduler->is_copy.get();
    if (is_copy) {
      d.scheduler = nullptr;
      d.users = 0;
      d.sides[0].busy = d.sides[1].busy = false;
    }
    for (poll_side& side : d.sides) {
      if (is_copy) {  // of goroutines that will never run: no more than out of the lists
        side.waiter = nullptr;
        while (side.turns.pop_front() != nullptr || side.watchers.pop_front() != nullptr) {
        }
        continue;
      }
      taken.push_back(take_waiter_locked(side, wake_cause::closed));
      take_turns_locked(side, wake_cause::closed, taken);
      take_watchers_locked(side, wake_cause::closed, taken);
    }
  }
  taken.wake_all();
  d.lock.lock();
  if (d.users != 0) {
    wait_point point;
    point.g = here.g();
    d.closer = &point;
    sched::wait(here, point, d.lock, {wait_reason::io_close, false});
    d.lock.lock();
  }
  THRUM_ASSERT(PD2, d.users == 0 && d.closing);
  const os::handle fd = d.handle();
  if (d.scheduler != nullptr) {
    netpoll::remove(d.scheduler->poller, fd, d.tag(), d.asked);
    d.scheduler = nullptr;
  }
  d.asked = 0;
  d.fd.set(os::no_handle);
  d.next_generation();
  d.lock.unlock();
  return fd;
}

THRUM_OUT_OF_LINE void poll_wait::give_back(poll_desc& d) noexcept {
  const section here;
  poll_table::give_back(d);
}

THRUM_OUT_OF_LINE void poll_wait::detach_all(runtime_scheduler& scheduler) noexcept {
  poll_table::for_each([&](poll_desc& d) {
    wake_list taken;
    {
      scoped guard(d.lock);
      if (d.scheduler != &scheduler) {
        return;
      }
      d.scheduler = nullptr;
      d.asked = 0;
      for (poll_side& side : d.sides) {
        taken.push_back(take_waiter_locked(side, wake_cause::retry));
        if (d.foreign) {
          take_turns_locked(side, wake_cause::retry, taken);
        }
        take_watchers_locked(side, wake_cause::retry, taken);
      }
    }
    taken.wake_all();
  });
}

THRUM_COLD THRUM_OUT_OF_LINE void poll_wait::forget_parent(poll_desc& d) noexcept {
  wake_list taken;
  d.scheduler = nullptr;
  d.asked = 0;
  for (poll_side& side : d.sides) {
    while (side.watchers.pop_front() != nullptr) {
    }
    if (side.waiter == nullptr) {
      continue;
    }
    side.waiter = nullptr;
    side.busy = false;
    --d.users;
    while (wait_point* const point = side.turns.pop_front()) {
      if (point->g == nullptr || !point->g->scheduler->is_copy.get()) {
        settle(*point, wake_cause::retry);
        taken.push_back(point);
      }
    }
  }
  d.lock.unlock();
  taken.wake_all();
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
