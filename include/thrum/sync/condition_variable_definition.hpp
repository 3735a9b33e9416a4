// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/condition_variable.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_CONDITION_VARIABLE_DEFINITION_HPP
#define THRUM_SYNC_CONDITION_VARIABLE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/sched/run/exit.hpp>
#include <thrum/sync/condition_variable.hpp>
#include <thrum/sync/mutex.hpp>
#include <thrum/sync/wait_list.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE std::cv_status condition_variable::wait_until_ns(std::unique_lock<mutex>& lock,
                                                                   std::int64_t deadline) {
  if (!lock.owns_lock()) {
    base::throw_usage("condition_variable::wait: the lock does not hold its mutex");
  }
  const sched::wake_cause cause = wait_unlocked(*lock.mutex(), deadline);
  if constexpr (!THRUM_EXCEPTIONS) {
    // It ends where it stands, and nobody would unlock for it.
    sched::exit_if_cancelled(cause);
  }
  lock.mutex()->lock();
  sched::exit_if_cancelled(cause);
  return cause == sched::wake_cause::timed_out ? std::cv_status::timeout
                                               : std::cv_status::no_timeout;
}

THRUM_OUT_OF_LINE sched::wake_cause condition_variable::wait_unlocked(
    mutex& users, std::int64_t deadline) noexcept {
  sched::section here;
  sched::wait_point point;
  point.g = here.g();
  point.object = &waiters_;
  point.withdraw = &sync_detail::wait_list::withdraw;
  list_lock_.lock();
  waiters_.points.push_back(point);
  // relaxed: published by the unlock of the mutex
  may_be_waited_for_.store(true, std::memory_order_relaxed);
  both held{users, list_lock_};
  return sched::wait(here, point, held, {sched::wait_reason::cond_wait, true, deadline});
}

}}  // namespace thrum::THRUM_ABI

#endif
