// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Tests of what takes time, without taking time.
//
//   thrum::testing::bubble([] {
//     thrum::context c = thrum::context::background().with_timeout(1h);
//     thrum::sleep_for(59min);
//     thrum::testing::wait();
//     assert(!c.cancelled());
//     thrum::sleep_for(1min);
//     thrum::testing::wait();
//     assert(c.cancelled());
//   });
//
// A bubble is a runtime of its own whose clock stands while anything can run, and jumps to the next
// timer when every goroutine is durably blocked: on a channel, a select, a sleep, a condition, a
// wait_group, a join. Not durably blocked are goroutines that wait for a mutex or a descriptor, or
// are inside blocking(): somebody outside may end that, so the clock waits.
//
// It does not wait for what comes from outside over a channel, a condition or a join: receive that
// inside blocking(). Time goes on after f has returned, until every goroutine has ended: one that
// sleeps for ever again and again never lets bubble() return. (Go stops the time then, and calls it
// a deadlock.)
//
// All time of the library is the bubble's there; std::chrono::steady_clock is not,
// thrum::testing::now() is. Inside blocking() a sleep takes its length in real time, after which
// the bubble's clock is where it was: do not wait there for a timer, a ticker or a context's
// deadline, which go by that clock.
//
// Source: Go, testing/synctest.
#ifndef THRUM_TESTING_BUBBLE_HPP
#define THRUM_TESTING_BUBBLE_HPP

#include <thrum/base/config.hpp>
#include <thrum/blocking.hpp>
#include <thrum/deadline.hpp>
#include <thrum/options.hpp>
#include <thrum/runtime.hpp>
#include <thrum/sched/core/traits.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace testing {

#if THRUM_EXCEPTIONS
/// Every goroutine of a bubble is blocked for good. The text names each.
class deadlock : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
#endif

}}}  // namespace thrum::THRUM_ABI::testing

namespace thrum { inline namespace THRUM_ABI { namespace testing_detail {

using namespace sched;

/// The clock of the scheduler that the caller runs on.
THRUM_OUT_OF_LINE std::int64_t now_here() noexcept;

/// Publishes the goroutine as one that waits until all is quiet.
THRUM_OUT_OF_LINE bool commit_until_quiet(machine& m, goroutine& g, void*) noexcept;

[[noreturn]] [[gnu::cold]] void throw_bubble_deadlock(const std::string& goroutines);

}}}  // namespace thrum::THRUM_ABI::testing_detail

namespace thrum { inline namespace THRUM_ABI { namespace testing {

/// Runs f as the first goroutine of a bubble, waits until every goroutine in it has ended, and
/// returns what f returned or throws what left it. One processor unless `settings` says otherwise.
/// Throws testing::deadlock if goroutines are left that can never run again; they are unwound.
/// Blocks the caller, goroutine or thread. Bubbles may run side by side, and one inside another.
template <class F>
auto bubble(options settings, F&& f) -> go_detail::task_result<F> {
  using state = sched::virtual_clock::state;
  using base::orders::relaxed;
  // relaxed: always the same value
  sched::traits::virtual_now().store(&testing_detail::now_here, relaxed);
  sched::virtual_clock clock;
  clock.now.store(os::now(), relaxed);  // relaxed: nobody knows it yet
  settings.procs = settings.procs == 0 ? 1 : settings.procs;
  runtime inside(std::move(settings), {.clock = &clock});
  auto first = inside.spawn(
      [&clock](auto&& body) -> decltype(auto) {
        clock.has_begun.store(true, relaxed);  // relaxed: the lock orders it
        return std::forward<decltype(body)>(body)();
      },
      std::forward<F>(f));
  blocking([&] { clock.settled.sleep(); });
  if (clock.outcome.load(relaxed) == state::deadlocked) {  // relaxed: the note has been set
    const std::string left = inside.describe_goroutines();
    if (!first.done()) {
      first.detach();
    }
    inside.stop();
    if (first.joinable()) {
      first.join();
    }
    testing_detail::throw_bubble_deadlock(left);
  }
  return first.join();
}

/// The same with one processor and the other settings as by default.
template <class F>
auto bubble(F&& f) -> go_detail::task_result<F> {
  return bubble(options(), std::forward<F>(f));
}

/// Blocks until every other goroutine of the bubble is durably blocked: what was to happen at this
/// moment has happened. usage_error outside of a bubble. Not a cancellation point.
THRUM_OUT_OF_LINE void wait();

/// The bubble's time; outside of one, the steady clock's.
THRUM_OUT_OF_LINE time_point now() noexcept;

}}}  // namespace thrum::THRUM_ABI::testing

#if !THRUM_SEPARATE
#include <thrum/testing/bubble_definition.hpp>
#endif

#endif
