// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Arming a timer, and telling the thread that sleeps until the first one. Checked by
// tests/model/timer_wake_model.cpp.
#ifndef THRUM_DETAIL_SCHED_RUN_ARM_HPP
#define THRUM_DETAIL_SCHED_RUN_ARM_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/timer_heap.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Tells the thread that sleeps in the poller of a new earliest timer. A thread that is about to
/// look for work, or to hand its P off, sees it anyway if it is its own P's.
inline void announce_timer(machine& m, typename timer_heap<traits>::added added,
                           std::int64_t when) noexcept {
  using heap = timer_heap<traits>;
  if (added == heap::added::elsewhere || (added == heap::added::earliest && m.g != nullptr)) {
    m.scheduler->wake_for_timer(when);
  }
}

/// Arms a timer that is not a goroutine's own; from any thread.
inline void arm(runtime_scheduler& scheduler, basic_timer<traits>& timer,
                std::int64_t when) noexcept {
  machine* const m = current_m();
  processor& p =
      m != nullptr && m->p != nullptr && m->scheduler == &scheduler ? *m->p : scheduler.ps[0];
  if (p.timers.add(timer, when) != timer_heap<traits>::added::later) {
    scheduler.wake_for_timer(when);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
