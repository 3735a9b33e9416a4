// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// For code that a cancellation must not leave, as it may not throw: destructors that wait, and
// functions of the user's that the standard calls noexcept.
#ifndef THRUM_SCHED_UNCANCELLABLE_HPP
#define THRUM_SCHED_UNCANCELLABLE_HPP

#include <thrum/base/config.hpp>
#include <thrum/sched/current.hpp>

namespace thrum::inline THRUM_ABI::sched {

/// As long as it lives, no wait of the running goroutine is cancelled. Nests. Without effect on a
/// thread that is not ours: nothing is cancelled there.
template <class Traits>
class uncancellable {
 public:
  uncancellable() noexcept {
    const basic_m<Traits>* const m = current_m<Traits>();
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
  basic_g<Traits>* g_;
};

}  // namespace thrum::inline THRUM_ABI::sched

#endif
