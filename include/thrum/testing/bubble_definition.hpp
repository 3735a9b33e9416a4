// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What testing/bubble.hpp declares: the bodies that are not inlined.
#ifndef THRUM_TESTING_BUBBLE_DEFINITION_HPP
#define THRUM_TESTING_BUBBLE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/deadline.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/testing/bubble.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace thrum { inline namespace THRUM_ABI {

namespace testing_detail {

THRUM_OUT_OF_LINE std::int64_t now_here() noexcept {
  const auto* const m = current_m();
  if (m == nullptr || !m->scheduler->clock.is_virtual()) {
    return os::now();
  }
  return m->scheduler->clock.own().now.load(
      std::memory_order_relaxed);  // relaxed: nothing runs then
}

THRUM_OUT_OF_LINE bool commit_until_quiet(machine& m, goroutine& g, void*) noexcept {
  scoped guard(m.scheduler->idle.lock());
  m.scheduler->clock.own().quiet_waiters.push_back(&g);
  return true;
}

THRUM_COLD THRUM_OUT_OF_LINE void throw_bubble_deadlock(const std::string& goroutines) {
  const std::string text = "bubble: all goroutines are blocked - deadlock\n\n" + goroutines;
#if THRUM_EXCEPTIONS
  throw testing::deadlock(text);
#else
  base::fatal(text);
#endif
}

}  // namespace testing_detail

namespace testing {

THRUM_OUT_OF_LINE void wait() {
  if (!sched::is_goroutine() || !sched::current_m()->scheduler->clock.is_virtual()) {
    base::throw_usage("testing::wait: called outside of a bubble");
  }
  sched::section here;
  sched::park(here, sched::wait_reason::bubble_wait, &testing_detail::commit_until_quiet, nullptr);
}

THRUM_OUT_OF_LINE time_point now() noexcept {
  return time_point(std::chrono::nanoseconds(sched::traits::now()));
}

}  // namespace testing

}}  // namespace thrum::THRUM_ABI

#endif
