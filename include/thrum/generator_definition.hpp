// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What generator.hpp declares: the bodies that are not inlined.
#ifndef THRUM_GENERATOR_DEFINITION_HPP
#define THRUM_GENERATOR_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/generator.hpp>
#include <thrum/sched/core/g_state.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/run/exit.hpp>
#include <thrum/sched/run/wait_point.hpp>
#include <thrum/sync/wait_list.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace generator_detail {

THRUM_OUT_OF_LINE bool turns::is_spared(const sched::section& here) noexcept {
  const sched::machine* const m = here.m();
  return m != nullptr && m->g != nullptr && !sched::may_cancel(*m);
}

THRUM_OUT_OF_LINE void turns::pass(sched::section& here, side to, void* value) noexcept {
  lock_.lock();
  turn_ = to;
  value_ = value;
  if (to == side::function) {
    spares_ = is_spared(here);
  }
  sched::wait_point* const other =
      (to == side::loop ? loop_ : function_).pop(sched::wake_cause::notified);
  lock_.unlock();
  if (other != nullptr) {
    wake(here.m(), *other);
  }
}

THRUM_OUT_OF_LINE sched::wake_cause turns::wait_for_turn(sched::section& here, side self) noexcept {
  sync_detail::waiting point(here, self == side::loop ? loop_ : function_);
  lock_.lock();
  // relaxed: under the lock
  const bool is_over = self == side::function ? stops_.load(base::orders::relaxed) : has_ended_;
  if (turn_ == self || is_over) {
    lock_.unlock();
    return sched::wake_cause::notified;
  }
  const bool may_be_cancelled = self == side::loop || !spares_;
  return point.wait({sched::wait_reason::generator_turn, may_be_cancelled});
}

THRUM_OUT_OF_LINE void turns::end_if_stopped(sched::wake_cause cause) const {
  sched::exit_if_cancelled(cause);
  if (stops_.load(base::orders::relaxed)) {  // relaxed: set before it was woken
    sched::exit_goroutine();
  }
}

THRUM_OUT_OF_LINE void* turns::resume() {
  sched::wake_cause cause;
  {
    sched::section here;
    pass(here, side::function, nullptr);
    cause = wait_for_turn(here, side::loop);
  }
  sched::exit_if_cancelled(cause);
  return value_;
}

THRUM_OUT_OF_LINE void turns::stop() noexcept {
  const sched::section here;
  lock_.lock();
  stops_.store(true, base::orders::relaxed);  // relaxed: under the lock
  sched::wait_point* const waiter = function_.pop(sched::wake_cause::notified);
  lock_.unlock();
  if (waiter != nullptr) {
    wake(here.m(), *waiter);
  }
}

THRUM_OUT_OF_LINE void turns::begin() {
  sched::wake_cause cause;
  {
    sched::section here;
    cause = wait_for_turn(here, side::function);
  }
  end_if_stopped(cause);
}

THRUM_OUT_OF_LINE void turns::yield(void* value) {
  sched::wake_cause cause;
  {
    sched::section here;
    pass(here, side::loop, value);
    cause = wait_for_turn(here, side::function);
  }
  end_if_stopped(cause);
}

THRUM_OUT_OF_LINE void turns::end() noexcept {
  sched::section here;
  {
    const sched::scoped guard(lock_);
    has_ended_ = true;  // a later resume() must not wait
    is_cut_short_ = here.g()->exiting;
  }
  pass(here, side::loop, nullptr);
}

}}}  // namespace thrum::THRUM_ABI::generator_detail

#endif
