// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Threads, most of them from outside, that are making a goroutine of this scheduler runnable. From the
// moment it is queued the goroutine may run and end, and with it the runtime. So the thread that
// destroys the scheduler waits for them.
#ifndef THRUM_DETAIL_SCHED_CORE_VISITORS_HPP
#define THRUM_DETAIL_SCHED_CORE_VISITORS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

class visitors {
 public:
  /// Call it before the goroutine is queued.
  void enter() noexcept {
    count_.fetch_add(1, relaxed);  // relaxed: published by the queue's lock
  }
  /// The caller's last touch of the scheduler.
  void leave() noexcept {
    count_.fetch_sub(1, release);  // [s.visit >] release: our last touch; sees: wait_until_gone
  }
  /// Returns when all of them have left. The thread that destroys the scheduler calls it, once nothing can be
  /// queued any more.
  void wait_until_gone() const noexcept {
    // [s.visit <] acquire: their last touch.
    for (std::uint32_t turn = 0; count_.load(acquire) != 0; ++turn) {
      traits::back_off(turn);
    }
  }

 private:
  atomic<std::uint32_t> count_{0};
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
