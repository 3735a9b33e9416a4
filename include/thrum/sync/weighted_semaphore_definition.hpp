// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/weighted_semaphore.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_WEIGHTED_SEMAPHORE_DEFINITION_HPP
#define THRUM_SYNC_WEIGHTED_SEMAPHORE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/sched/run/exit.hpp>
#include <thrum/sync/wait_list.hpp>
#include <thrum/sync/weighted_semaphore.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE std::ptrdiff_t weighted_semaphore::max() const noexcept {
  const sched::section here;
  const sched::scoped guard(lock_);
  return max_;
}

THRUM_OUT_OF_LINE void weighted_semaphore::max(std::ptrdiff_t permits) {
  if (permits < 0) {
    base::throw_usage("weighted_semaphore::max: the number of permits is negative");
  }
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  free_ = permits - (max_ - free_);  // WS3
  max_ = permits;
  serve_locked(released);
  lock_.unlock();
  released.wake_all();
}

THRUM_OUT_OF_LINE bool weighted_semaphore::try_acquire(std::ptrdiff_t n) {
  if (n < 0) {
    base::throw_usage("weighted_semaphore::try_acquire: the number of permits is negative");
  }
  const sched::section here;
  const sched::scoped guard(lock_);
  return take_locked(n);
}

THRUM_OUT_OF_LINE void weighted_semaphore::release(std::ptrdiff_t n) {
  if (n < 0 || !give(n)) {
    base::throw_usage(
        "weighted_semaphore::release: a negative number of permits, or more than were taken");
  }
}

THRUM_OUT_OF_LINE bool weighted_semaphore::acquire_until(std::ptrdiff_t n, std::int64_t deadline) {
  const sched::wake_cause cause = wait_for_permits(n, deadline);
  if (cause == sched::wake_cause::closed) {
    base::throw_usage(
        "weighted_semaphore::acquire: a negative number of permits, or more than there are");
  }
  if (cause == sched::wake_cause::none) {
    sync_detail::after_operation();
    return true;
  }
  if (cause != sched::wake_cause::notified) {
    give(0);  // WS2
  }
  sched::exit_if_cancelled(cause);
  return cause == sched::wake_cause::notified;
}

THRUM_OUT_OF_LINE bool weighted_semaphore::take_locked(std::ptrdiff_t n) noexcept {
  const bool granted = waiters_.empty() && n <= free_;
  if (granted) {
    free_ -= n;
  }
  return granted;
}

/// `none`: there was no need to wait; `closed`: it would be in vain.
THRUM_OUT_OF_LINE sched::wake_cause weighted_semaphore::wait_for_permits(
    std::ptrdiff_t n, std::int64_t deadline) noexcept {
  sched::section here;
  sync_detail::waiting self(here, waiters_, &n);
  lock_.lock();
  const bool is_possible = n >= 0 && n <= max_;
  if (!is_possible || take_locked(n)) {
    lock_.unlock();
    return is_possible ? sched::wake_cause::none : sched::wake_cause::closed;
  }
  return self.wait({sched::wait_reason::semaphore_acquire, true, deadline});
}

THRUM_OUT_OF_LINE bool weighted_semaphore::give(std::ptrdiff_t n) noexcept {
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  const bool fits = n <= max_ - free_;
  if (fits) {
    free_ += n;
    serve_locked(released);
  }
  lock_.unlock();
  released.wake_all();
  return fits;
}

THRUM_OUT_OF_LINE void weighted_semaphore::serve_locked(sched::wake_list& released) noexcept {
  while (const sched::wait_point* const first = waiters_.points.front()) {
    const std::ptrdiff_t wanted = *static_cast<const std::ptrdiff_t*>(first->slot);
    if (wanted > free_) {
      break;
    }
    free_ -= wanted;
    released.push_back(waiters_.pop(sched::wake_cause::notified));
  }
}

}}  // namespace thrum::THRUM_ABI

#endif
