// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Code that a cancelled wait must not leave because nothing may be thrown out of there: destructors
// that wait, and other functions that are noexcept.
#ifndef THRUM_DETAIL_SCHED_RUN_UNCANCELLABLE_HPP
#define THRUM_DETAIL_SCHED_RUN_UNCANCELLABLE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/current.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// As long as it lives, no wait of the running goroutine is cancelled. Nests. Without effect on a
/// thread that is not ours: nothing is cancelled there.
class uncancellable {
 public:
  uncancellable() noexcept {
    const machine* const m = current_m();
    g_ = m != nullptr ? m->g : nullptr;
    if (g_ != nullptr) {
      ++g_->uncancellable;
    }
  }
  ~uncancellable() {
    if (g_ != nullptr) {
      --g_->uncancellable;
    }
  }
  uncancellable(const uncancellable&) = delete;
  uncancellable& operator=(const uncancellable&) = delete;

 private:
  goroutine* g_;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
