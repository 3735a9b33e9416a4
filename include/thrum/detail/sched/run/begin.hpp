// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where the stack of a goroutine begins. Its end is in end.hpp.
#ifndef THRUM_DETAIL_SCHED_RUN_BEGIN_HPP
#define THRUM_DETAIL_SCHED_RUN_BEGIN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/run/switch.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

inline bool commit_held_back(machine& m, goroutine& g, void*) noexcept {
  g.status.store(g_status::runnable, relaxed);  // relaxed: published by the reserve's lock
  return m.scheduler->reserve.hold_back(g);
}

/// No thread is free: a goroutine of a loop's kind waits until one is. See thread_reserve.hpp.
/// Returns the M that it runs on afterwards.
THRUM_COLD inline machine& wait_for_thread(machine& m) noexcept {
  machine* here = &m;
  while (here->scheduler->reserve.is_active() && is_short_of_threads(*here->scheduler) &&
         here->scheduler->reserve.is_of_loops(*here->g)) {
    here = &leave(*here, take_next(*here), &commit_held_back, nullptr);
  }
  return *here;
}

/// The first function on a fresh stack.
inline void goroutine_main(void* pass, void* argument) {
  auto& g = *static_cast<goroutine*>(argument);
  auto* m = static_cast<machine*>(pass);
  arrive(*m, g.context);
  if (m->scheduler->reserve.is_active()) [[unlikely]] {
    m = &wait_for_thread(*m);
  }
  *m->error_number = 0;  // as on a fresh thread
  leave_scheduler(*m);
  g.entry(g);
  base::fatal("goroutine: an entry function has returned");
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
