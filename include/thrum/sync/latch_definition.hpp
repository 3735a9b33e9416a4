// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/latch.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_LATCH_DEFINITION_HPP
#define THRUM_SYNC_LATCH_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/order.hpp>
#include <thrum/sched/run/exit.hpp>
#include <thrum/sync/latch.hpp>
#include <thrum/sync/wait_list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

THRUM_COLD THRUM_OUT_OF_LINE void latch::throw_too_much() {
  base::throw_usage("latch::count_down: by a negative number, or by more than is left");
}

THRUM_OUT_OF_LINE void latch::take_all_locked(sched::wake_list& released) noexcept {
  sync_detail::wait_list all(lock_);
  all.points = waiters_.take_all();
  all.take_all(sched::wake_cause::notified, released);
}

THRUM_OUT_OF_LINE void latch::arrive_and_wait(std::ptrdiff_t n) {
  const arrival mine = arrive_and_park(n);
  switch (mine.how) {
    case outcome::too_much: throw_too_much();
    case outcome::last: sync_detail::after_operation(); break;
    case outcome::others_missing: sched::exit_if_cancelled(mine.cause); break;
  }
}

THRUM_OUT_OF_LINE latch::arrival latch::arrive_and_park(std::ptrdiff_t n) noexcept {
  using namespace base::orders;
  sched::section here;
  sched::wait_point point(here.g(), this, &withdraw);
  lock_.lock();
  std::ptrdiff_t count = count_.load(relaxed);  // relaxed: the exchange decides
  do {
    if (n < 0 || n > count) {
      lock_.unlock();
      return {outcome::too_much, sched::wake_cause::none};
    }
    // [la.count <>] acq_rel: what all have done before; relaxed: looks at it again
  } while (!count_.compare_exchange_weak(count, count - n, acq_rel, relaxed));
  if (count == n) {
    sched::wake_list released;
    take_all_locked(released);
    lock_.unlock();
    released.wake_all();
    return {outcome::last, sched::wake_cause::notified};
  }
  waiters_.push_back(point);
  return {
      outcome::others_missing,
      sched::wait(here, point, lock_, {sched::wait_reason::latch_wait, true, sched::no_deadline})};
}

THRUM_COLD THRUM_OUT_OF_LINE bool latch::open(std::ptrdiff_t n) noexcept {
  using namespace base::orders;
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  std::ptrdiff_t count = count_.load(relaxed);  // relaxed: the exchange decides
  // [la.count <>] acq_rel: what all have done before; relaxed: looks at it again
  while (count == n && !count_.compare_exchange_weak(count, 0, acq_rel, relaxed)) {
  }
  if (count == n) {
    take_all_locked(released);
  }
  lock_.unlock();
  released.wake_all();
  return count == n;
}

THRUM_COLD THRUM_OUT_OF_LINE bool latch::wait_for_zero(std::int64_t deadline) const {
  const sched::wake_cause cause = wait_locked(deadline);
  sched::exit_if_cancelled(cause);
  return cause == sched::wake_cause::notified;
}

THRUM_OUT_OF_LINE sched::wake_cause latch::wait_locked(std::int64_t deadline) const noexcept {
  sched::section here;
  sched::wait_point point(here.g(), const_cast<latch*>(this), &withdraw);
  lock_.lock();
  if (count_.load(std::memory_order_relaxed) == 0) {  // relaxed: the zero is set under the lock
    lock_.unlock();
    return sched::wake_cause::notified;
  }
  waiters_.push_back(point);
  return sched::wait(here, point, lock_, {sched::wait_reason::latch_wait, true, deadline});
}

THRUM_OUT_OF_LINE sched::withdrawal latch::withdraw(sched::wait_point& point,
                                                    bool locked) noexcept {
  auto& self = *static_cast<latch*>(point.object);
  return sched::unlink_under(self.lock_, locked, [&]() noexcept {
    const bool was_linked = point.linked;
    if (was_linked) {
      self.waiters_.remove(point);
    }
    return was_linked;
  });
}

}}  // namespace thrum::THRUM_ABI

#endif
