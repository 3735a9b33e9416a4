// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A goroutine that stays on its thread.
#ifndef THRUM_THREAD_LOCK_HPP
#define THRUM_THREAD_LOCK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/g.hpp>

namespace thrum { inline namespace THRUM_ABI {

/// While it exists, the calling goroutine runs on the thread that it runs on now, and no other
/// goroutine does (Go's LockOSThread): for libraries that keep state per thread, and for what the
/// kernel keeps per thread. Nests. Each time the goroutine goes on after a wait costs two changes
/// of threads, some 10 us. On a foreign thread it does nothing.
///
/// If the goroutine ends while it is locked, its thread ends with it: see keep().
///
/// Keep it in the goroutine that made it. When not to use: around one call that blocks; that is
/// what blocking() is for.
class thread_lock {
 public:
  /// Ties the calling goroutine to its thread; the destructor unties it.
  thread_lock() noexcept;
  ~thread_lock();
  thread_lock(const thread_lock&) = delete;
  thread_lock& operator=(const thread_lock&) = delete;

  /// Leaves the goroutine tied to its thread until it ends; then the thread ends, too. For a goroutine that
  /// changes its thread for good, by unshare, a mask or a user ID: no other goroutine gets that thread.
  /// In a testing::bubble, and on a host, the thread stays.
  void keep() noexcept { g_ = nullptr; }

 private:
  sched::goroutine* g_ = nullptr;
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/sched/host/host_leave.hpp>
#include <thrum/detail/sched/run/end.hpp>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE thread_lock::thread_lock() noexcept {
  sched::section here;
  if (here.m() == nullptr) {
    return;
  }
  const bool left_host = sched::leave_host(here);
  sched::machine& m = here.this_m();
  g_ = m.g;
  if (g_->thread_locks++ == 0 && (g_->flags & sched::g_on_host) == 0) {
    sched::bind(m, *g_);
    m.locked_g = g_;
  }
  if (left_host) {
    sched::may_be_on_host(*g_);
  }
}

THRUM_OUT_OF_LINE thread_lock::~thread_lock() {
  if (g_ == nullptr) {
    return;
  }
  const sched::section here;
  if (--g_->thread_locks == 0 && sched::is_bound_to_thread(*g_)) {
    sched::unbind(*g_->bound, *g_);
  }
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
