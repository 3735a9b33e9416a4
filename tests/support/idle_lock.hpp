// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#ifndef THRUM_TESTS_SUPPORT_IDLE_LOCK_HPP
#define THRUM_TESTS_SUPPORT_IDLE_LOCK_HPP

#include <thrum.hpp>

namespace support {

/// `with_idle_lock(scheduler)->f()` calls f of the scheduler with the lock of its idle lists.
class with_idle_lock {
 public:
  template <class Scheduler>
  explicit with_idle_lock(Scheduler& scheduler) : scheduler_(*scheduler) {}
  thrum::sched::runtime_scheduler* operator->() noexcept { return &scheduler_; }

 private:
  thrum::sched::runtime_scheduler& scheduler_;
  thrum::sched::scoped<thrum::sched::blocking_lock> guard_{scheduler_.idle.lock()};
};

}  // namespace support

#endif
