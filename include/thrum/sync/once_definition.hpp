// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/once.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_ONCE_DEFINITION_HPP
#define THRUM_SYNC_ONCE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/sync/once.hpp>
#include <thrum/sync/wait_list.hpp>

#include <atomic>

namespace thrum { inline namespace THRUM_ABI {

THRUM_COLD THRUM_OUT_OF_LINE bool once_flag::begin() noexcept {
  sched::section here;
  for (;;) {
    sync_detail::waiting self(here, waiters_);
    lock_.lock();
    const state now = state_.load(std::memory_order_relaxed);  // relaxed: under the lock
    if (now != state::running) {
      if (now == state::fresh) {
        state_.store(state::running, std::memory_order_relaxed);  // relaxed: under the lock
      }
      lock_.unlock();
      return now == state::fresh;
    }
    self.wait({sched::wait_reason::once_wait, false, sched::no_deadline});
  }
}

THRUM_OUT_OF_LINE void once_flag::end(state then) noexcept {
  const sched::section here;
  lock_.lock();
  // [once.state >] release: what was done, to calls that find it done.
  state_.store(then, std::memory_order_release);
  sched::wake_list released;
  waiters_.take_all(sched::wake_cause::notified, released);
  lock_.unlock();
  released.wake_all();
}

}}  // namespace thrum::THRUM_ABI

#endif
