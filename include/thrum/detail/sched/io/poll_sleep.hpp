// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// poll_wait's bodies that wait: until a descriptor is ready, or until a moment. They register the
// descriptor with a poller; a thread without a runtime asks the system itself.
#ifndef THRUM_DETAIL_SCHED_IO_POLL_SLEEP_HPP
#define THRUM_DETAIL_SCHED_IO_POLL_SLEEP_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>
#include <thrum/detail/sched/io/poll_wait.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/sched/run/leave_poller.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE int poll_wait::wait(poll_desc& d, io_side which) noexcept {
  section here;
  d.lock.lock();
  return wait_locked(here, d, which);
}

THRUM_OUT_OF_LINE int poll_wait::pause(poll_desc& d, io_side which, std::int64_t when) noexcept {
  section here;
  poll_side& side = d.side(which);
  for (d.lock.lock();; d.lock.lock()) {
    const int error = refusal_locked(d, side);
    if (error != 0 || when <= traits::now()) {
      d.lock.unlock();
      return error;
    }
    // In the queue of turns: events wake nothing there, and no other can end the turn.
    wait_point point;
    prepare(here, point, d, which);
    side.turns.push_back(point);
    const io_deadline until(here, side.deadline < when ? side.deadline : when);
    // As a sleep: it needs no event from outside, so the clock of a bubble may advance.
    const wake_cause cause =
        sched::wait(here, point, d.lock, {wait_reason::sleep, true, until.until()});
    if (cause == wake_cause::cancelled) {
      return io_exit;
    }
    if (cause == wake_cause::timed_out && until.is_stopped()) {
      return os::cancelled;
    }
  }
}

THRUM_OUT_OF_LINE runtime_scheduler* poll_wait::own_scheduler() noexcept {
  const machine* const m = current_m();
  return m != nullptr ? m->scheduler : nullptr;
}

THRUM_COLD THRUM_OUT_OF_LINE void poll_wait::call_to_poller(runtime_scheduler& scheduler) noexcept {
  traits::fence(seq_cst);  // [s.poll =] it is counted; a sleeper that leaves counts again
  if (!scheduler.poll.somebody_sleeps()) {
    scheduler.wake_processor();
  }
}

THRUM_OUT_OF_LINE void poll_wait::ask_locked(const section& here, poll_desc& d,
                                             io_side which) noexcept {
  const netpoll::events what = which == io_side::read ? netpoll::readable : netpoll::writable;
  if ((d.asked & what) == 0) {
    d.asked |= what;
    const bool polls_soon = here.m() != nullptr && here.m()->scheduler == d.scheduler;
    netpoll::ask(d.scheduler->poller, d.handle(), d.tag(), what, !polls_soon);
  }
}

THRUM_OUT_OF_LINE int poll_wait::register_locked(poll_desc& d, io_side which) noexcept {
  int error = refusal_locked(d, d.side(which));
  if (d.scheduler != nullptr && d.scheduler->is_copy.get()) [[unlikely]] {
    forget_parent(d);
    return os::would_block;
  }
  if (error == 0 && d.scheduler == nullptr) {
    if (runtime_scheduler* const own = own_scheduler(); own != nullptr) {
      error = own->poller.add(d.handle(), d.tag());
      d.scheduler = error == 0 ? own : nullptr;
    }
  }
  if (error != 0) {
    d.lock.unlock();
  }
  return error;
}

THRUM_OUT_OF_LINE int poll_wait::wait_locked(section& here, poll_desc& d, io_side which) noexcept {
  poll_side& side = d.side(which);
  for (;; d.lock.lock()) {
    if (side.ready && !d.closing) {  // also when the deadline has just passed
      side.ready = false;
      d.lock.unlock();
      return 0;
    }
    const bool was_known = d.scheduler != nullptr;
    int error = register_locked(d, which);
    if (error == 0 && !was_known) {
      if (d.scheduler == nullptr) {
        const os::handle fd = d.handle();
        const io_deadline deadline(here, side.deadline);
        d.lock.unlock();
        error =
            deadline.is_stopped() ? os::cancelled : wait_with_thread(fd, which, deadline.moment());
        if (error == 0) {
          return 0;
        }
      } else if (here.m() == nullptr) {
        runtime_scheduler& scheduler = *d.scheduler;
        d.lock.unlock();
        call_to_poller(scheduler);
        continue;
      }
    }
    if (error == os::would_block) {
      continue;
    }
    if (error != 0) {
      return error;
    }
    if (netpoll::asks_each_time(d.scheduler->poller)) {
      ask_locked(here, d, which);
    }
    if (machine* const m = here.m()) {
      note_wait_for_event(*m);
    }
    wait_point point;
    prepare(here, point, d, which);
    side.waiter = &point;
    const io_deadline deadline(here, side.deadline);
    const wake_cause cause =
        sched::wait(here, point, d.lock, {reason_of(which), true, deadline.until()});
    if (cause == wake_cause::notified) {
      return 0;
    }
    if (cause == wake_cause::cancelled) {
      return io_exit;
    }
    if (cause == wake_cause::timed_out && deadline.is_stopped()) {
      return os::cancelled;
    }
    // Closed, timed out, or moved: look again.
  }
}

THRUM_OUT_OF_LINE int poll_wait::wait_with_thread(os::handle fd, io_side which,
                                                  std::int64_t deadline) noexcept {
  constexpr std::int64_t ms = 1'000'000;
  constexpr std::int64_t at_once = 10;
  std::int64_t left = at_once;
  if (deadline != no_deadline) {
    left = (deadline - traits::now() + ms - 1) / ms;
    left = left < 0 ? 0 : left < at_once ? left : at_once;
  }
  const os::io_result seen = os::wait_for(fd, which == io_side::write, static_cast<int>(left));
  return seen > 0                               ? 0
         : seen == 0 || seen == os::interrupted ? os::would_block
                                                : static_cast<int>(seen);
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
