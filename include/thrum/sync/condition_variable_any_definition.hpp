// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/condition_variable_any.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_CONDITION_VARIABLE_ANY_DEFINITION_HPP
#define THRUM_SYNC_CONDITION_VARIABLE_ANY_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/sync/condition_variable_any.hpp>
#include <thrum/sync/destroyed_waiters.hpp>
#include <thrum/sync/wait_list.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE condition_variable_any::condition_variable_any()
    : inside_(std::make_shared<inside>()) {}

THRUM_OUT_OF_LINE void condition_variable_any::inside::notify(std::size_t n) noexcept {
  const sched::section here;
  sched::wake_list released;
  lock.lock();
  for (; n != 0; --n) {
    auto* const first = static_cast<waiter*>(waiters.pop(sched::wake_cause::notified));
    if (first == nullptr) {
      break;
    }
    if (first->is_parked) {
      released.push_back(first);
    }
  }
  lock.unlock();
  released.wake_all();
}

THRUM_OUT_OF_LINE void condition_variable_any::inside::end_waits() noexcept {
  {
    const sched::section here;
    const sched::scoped guard(lock);
    if (waiters.empty()) {
      return;
    }
  }
  sync_detail::end_waits("condition_variable_any: it", lock, waiters.points);
}

THRUM_OUT_OF_LINE sched::wake_cause condition_variable_any::wait_linked(
    inside& shared, waiter& point, std::int64_t deadline, const std::stop_token& token) noexcept {
  sched::section here;
  shared.lock.lock();
  if (point.linked && token.stop_requested()) {
    shared.waiters.points.remove(point);
  }
  if (!point.linked) {
    shared.lock.unlock();
    return sched::wake_cause::notified;
  }
  point.g = here.g();
  point.is_parked = true;
  return sched::wait(here, static_cast<sched::wait_point&>(point), shared.lock,
                     {sched::wait_reason::cond_wait, true, deadline});
}

}}  // namespace thrum::THRUM_ABI

#endif
