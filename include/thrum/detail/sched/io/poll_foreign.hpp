// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The waits for descriptors that are not ours: bodies of poll_wait (sched/io/poll_wait.hpp).
#ifndef THRUM_DETAIL_SCHED_IO_POLL_FOREIGN_HPP
#define THRUM_DETAIL_SCHED_IO_POLL_FOREIGN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>
#include <thrum/detail/sched/io/poll_wait.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/sched/run/leave_poller.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/detail/sched/run/wake_list.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE int poll_wait::wait_foreign(poll_desc& d, os::handle fd, io_side which,
                                              std::int64_t deadline) noexcept {
  poll_side& side = d.side(which);
  for (bool armed = false;;) {
    const bool is_late = deadline != no_deadline && deadline <= traits::now();
    if (!armed && (is_late || is_worth_a_look(side))) {
      if (const int seen = look_foreign(side, fd, which); seen != os::would_block) {
        go_on(0);
        return seen;
      }
    }
    if (is_late) {
      return io_deadline_exceeded;
    }
    section here;
    const io_deadline until(here, deadline);
    if (until.is_stopped()) {
      return os::cancelled;
    }
    runtime_scheduler* const scheduler = own_scheduler();
    if (scheduler == nullptr) {
      const int error = wait_with_thread(fd, which, until.moment());
      if (error != os::would_block) {
        return error;
      }
      continue;
    }
    int result = 0;
    if (const int outcome = arm_foreign(d, fd, which, *scheduler, armed, result); outcome != 0) {
      if (outcome == os::would_block) {
        continue;
      }
      return result;
    }
    if (machine* const m = here.m()) {
      note_wait_for_event(*m);
    }
    foreign_point point;
    point.scheduler = scheduler;
    prepare(here, point, d, which);
    side.turns.push_back(point);
    if (here.m() == nullptr) {
      d.lock.unlock();
      call_to_poller(*scheduler);
      d.lock.lock();
    }
    switch (sched::wait(here, static_cast<wait_point&>(point), d.lock,
                        {reason_of(which), true, until.until()})) {
      case wake_cause::notified: return 0;
      case wake_cause::timed_out: return until.is_stopped() ? os::cancelled : io_deadline_exceeded;
      case wake_cause::closed: return os::cancelled;
      case wake_cause::cancelled: return io_exit;
      case wake_cause::retry:
      case wake_cause::none: break;  // an event for the other side has disarmed it
    }
  }
}

THRUM_OUT_OF_LINE int poll_wait::arm_foreign(poll_desc& d, os::handle fd, io_side which,
                                             runtime_scheduler& scheduler, bool& armed,
                                             int& result) noexcept {
  constexpr int ended = 1;
  d.lock.lock();
  if (d.sides[0].turns.empty() && d.sides[1].turns.empty()) {
    d.foreign = true;
    d.next_generation();  // an event that is on its way wakes no waiter any more
  }
  d.scheduler = &scheduler;
  const bool other = !d.side(which == io_side::read ? io_side::write : io_side::read).turns.empty();
  const std::uint32_t both = netpoll::readable | netpoll::writable;
  const std::uint32_t own = which == io_side::read ? netpoll::readable : netpoll::writable;
  const std::uint32_t asked = other ? both : own;
  int error = scheduler.poller.arm(fd, d.tag(), asked);
  if (error == os::not_armed) {
    if (armed) {
      d.lock.unlock();
      result = os::cancelled;
      return ended;
    }
    wake_list taken;
    if (take_of_closed_locked(d, scheduler, taken)) {
      d.lock.unlock();
      taken.wake_all();
      return os::would_block;
    }
    error = scheduler.poller.arm_first(fd, d.tag(), asked);
  }
  if (error != 0) {
    d.lock.unlock();
    const int seen = look_foreign(d.side(which), fd, which);  // of some kinds it is always ready
    result = seen != os::would_block ? seen : error;
    return ended;
  }
  armed = true;
  return 0;
}

THRUM_OUT_OF_LINE bool poll_wait::is_worth_a_look(poll_side& side) noexcept {
  const std::uint8_t left = side.waits_without_look.get();
  if (left != 0) {
    side.waits_without_look.set(static_cast<std::uint8_t>(left - 1));
  }
  return left == 0;
}

THRUM_OUT_OF_LINE int poll_wait::look_foreign(poll_side& side, os::handle fd,
                                              io_side which) noexcept {
  constexpr std::uint8_t some = 7;
  os::io_result seen;
  do {
    seen = os::wait_for(fd, which == io_side::write, 0);
  } while (seen == os::interrupted);  // which says nothing of the descriptor
  side.waits_without_look.set(seen == 0 ? some : std::uint8_t{0});
  return seen > 0 ? 0 : seen == 0 ? os::would_block : static_cast<int>(seen);
}

THRUM_COLD THRUM_OUT_OF_LINE bool poll_wait::take_of_closed_locked(poll_desc& d,
                                                                   runtime_scheduler& scheduler,
                                                                   wake_list& taken) noexcept {
  const auto is_own = [&](const wait_point& point) {
    return static_cast<const foreign_point&>(point).scheduler == &scheduler;
  };
  bool known = false;
  for (poll_side& side : d.sides) {
    for (wait_point* point = side.turns.front(); point != nullptr;
         point = side.turns.next(*point)) {
      known = known || is_own(*point);
    }
  }
  if (known) {
    d.next_generation();
    for (poll_side& side : d.sides) {
      while (wait_point* const point = side.turns.pop_front()) {
        const auto& waits_with = *static_cast<foreign_point*>(point)->scheduler;
        // Such a goroutine will never run
        if (!waits_with.is_copy.get()) {
          settle(*point, is_own(*point) ? wake_cause::closed : wake_cause::retry);
          taken.push_back(point);
        }
      }
    }
  }
  return known;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
