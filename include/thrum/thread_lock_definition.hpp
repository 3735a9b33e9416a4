// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What thread_lock.hpp declares: the bodies that are not inlined.
#ifndef THRUM_THREAD_LOCK_DEFINITION_HPP
#define THRUM_THREAD_LOCK_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/sched/run/end.hpp>
#include <thrum/thread_lock.hpp>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE thread_lock::thread_lock() noexcept {
  const sched::section here;
  auto* const m = here.m();
  if (m == nullptr) {
    return;
  }
  g_ = m->g;
  if (g_->thread_locks++ == 0) {
    sched::bind(*m, *g_);
    m->locked_g = g_;
  }
}

THRUM_OUT_OF_LINE thread_lock::~thread_lock() {
  if (g_ == nullptr) {
    return;
  }
  const sched::section here;
  if (--g_->thread_locks == 0) {
    sched::unbind(*g_->bound, *g_);
  }
}

}}  // namespace thrum::THRUM_ABI

#endif
