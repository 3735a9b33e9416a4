// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sched/run/stop_watch.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SCHED_RUN_STOP_WATCH_DEFINITION_HPP
#define THRUM_SCHED_RUN_STOP_WATCH_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/parts.hpp>
#include <thrum/sched/core/g.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/run/stop_watch.hpp>

#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct thread_stop_watch {
  static inline constinit THRUM_THREAD_LOCAL os::thread_word<stop_watch*> value = nullptr;
};

// Not inlined: the address of a thread's variable must not outlive a switch of the goroutine.

THRUM_NOINLINE THRUM_OUT_OF_LINE stop_watch* current_stop_watch(const section& here) noexcept {
  if (const goroutine* const g = here.g()) {
    return g->stop;
  }
  return thread_stop_watch::value;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE stop_watch* exchange_stop_watch(const section& here,
                                                                 stop_watch* by) noexcept {
  if (goroutine* const g = here.g()) {
    return std::exchange(g->stop, by);
  }
  stop_watch* const before = thread_stop_watch::value;
  thread_stop_watch::value = by;
  return before;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
