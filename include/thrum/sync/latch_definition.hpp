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

namespace thrum { inline namespace THRUM_ABI {

THRUM_COLD THRUM_OUT_OF_LINE void latch::throw_too_much() {
  base::throw_usage("latch::count_down: by a negative number, or by more than is left");
}

THRUM_COLD THRUM_OUT_OF_LINE bool latch::open(std::ptrdiff_t n) noexcept {
  using namespace base::orders;
  const sched::section here;
  sched::wait_point* chain = nullptr;
  lock_.lock();
  std::ptrdiff_t count = count_.load(relaxed);  // relaxed: the exchange decides
  // [la.count <>] acq_rel: what all have done before; relaxed: looks at it again
  while (count == n && !count_.compare_exchange_weak(count, 0, acq_rel, relaxed)) {
  }
  if (count == n) {
    chain = waiters_.take_all(sched::wake_cause::notified);
  }
  lock_.unlock();
  sched::wake_chain(chain);
  return count == n;
}

THRUM_COLD THRUM_OUT_OF_LINE void latch::wait_for_zero() const {
  sched::exit_if_cancelled(wait_locked());
}

THRUM_OUT_OF_LINE sched::wake_cause latch::wait_locked() const noexcept {
  sched::section here;
  sync_detail::waiting self(here, waiters_);
  lock_.lock();
  if (count_.load(std::memory_order_relaxed) == 0) {  // relaxed: the zero is set under the lock
    lock_.unlock();
    return sched::wake_cause::notified;
  }
  return self.wait({sched::wait_reason::latch_wait});
}

}}  // namespace thrum::THRUM_ABI

#endif
