// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What thread_lock.hpp declares: the bodies that are not inlined.
#ifndef THRUM_THREAD_LOCK_DEFINITION_HPP
#define THRUM_THREAD_LOCK_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/sched/run/end.hpp>
#include <thrum/sched/run/off_host.hpp>
#include <thrum/thread_lock.hpp>

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
