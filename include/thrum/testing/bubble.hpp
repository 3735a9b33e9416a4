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
// inside blocking(). When f has returned, time stands: goroutines that can run do so, to their ends or
// until they are blocked, and those that are blocked then, also in a sleep, are a deadlock.
//
// Goroutines that wake at the same moment run in a random order, which a seed decides, as it does what
// a select chooses. With one processor the same seed gives the same order again, as long as no
// time slice ends (preemption::none makes sure). What reports a failure of a bubble (a deadlock, an
// exception, a panic) names the seed; THRUM_BUBBLE_SEED=n in the environment repeats it. An assertion that throws nothing may name testing::seed().
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
#include <exception>
#include <optional>
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

/// The seed of a bubble for which none was given: the environment's, or another one each time.
THRUM_OUT_OF_LINE std::uint64_t choose_seed();

/// `returned`: the first goroutine has.
[[noreturn]] [[gnu::cold]] void throw_bubble_deadlock(const std::string& goroutines, bool returned,
                                                      std::uint64_t seed);

/// Says on standard error which seed a bubble had that an exception has left.
THRUM_OUT_OF_LINE void tell_seed(std::uint64_t seed);

/// Tells the seed if an exception leaves its block.
class seed_teller {
 public:
  explicit seed_teller(std::uint64_t seed) noexcept : seed_(seed) {}
  seed_teller(const seed_teller&) = delete;
  seed_teller& operator=(const seed_teller&) = delete;
  ~seed_teller() {
    if (std::uncaught_exceptions() > before_) {
      tell_seed(seed_);
    }
  }

 private:
  const int before_ = std::uncaught_exceptions();
  const std::uint64_t seed_;
};

/// The first goroutine's function, from its beginning to its end.
class first_scope {
 public:
  explicit first_scope(virtual_clock& clock) noexcept : clock_(clock) {
    clock_.has_begun.store(true, base::orders::relaxed);  // relaxed: the lock orders it
  }
  first_scope(const first_scope&) = delete;
  first_scope& operator=(const first_scope&) = delete;
  ~first_scope() {
    clock_.has_returned.store(true, base::orders::relaxed);  // relaxed: the lock orders it
  }

 private:
  virtual_clock& clock_;
};

}}}  // namespace thrum::THRUM_ABI::testing_detail

namespace thrum { inline namespace THRUM_ABI { namespace testing {

/// How a bubble is made.
struct bubble_options {
  /// Of its runtime: one processor unless they say otherwise.
  options runtime = {};
  /// What decides the order of goroutines that wake together. None: what THRUM_BUBBLE_SEED says, else
  /// another one each time.
  std::optional<std::uint64_t> seed = {};
};

/// Runs f as the first goroutine of a bubble, waits until every goroutine in it has ended, and
/// returns what f returned or throws what left it. Throws testing::deadlock if goroutines are left
/// that can never run again, or that wait for a time that does not come as f has returned; its text
/// names them and where they wait, and they are unwound. Blocks the caller, goroutine or thread.
/// Bubbles may run side by side, and one inside another.
template <class F>
auto bubble(bubble_options how, F&& f) -> go_detail::task_result<F> {
  using state = sched::virtual_clock::state;
  using base::orders::relaxed;
  // relaxed: always the same value
  sched::traits::virtual_now().store(&testing_detail::now_here, relaxed);
  sched::virtual_clock clock;
  clock.now.store(os::now(), relaxed);  // relaxed: nobody knows it yet
  clock.seed = how.seed ? *how.seed : testing_detail::choose_seed();
  how.runtime.procs = how.runtime.procs == 0 ? 1 : how.runtime.procs;
  runtime inside(std::move(how.runtime), {.clock = &clock});
  auto first = inside.spawn(
      [&clock](auto&& body) -> decltype(auto) {
        const testing_detail::first_scope scope(clock);
        return std::forward<decltype(body)>(body)();
      },
      std::forward<F>(f));
  blocking([&] { clock.settled.sleep(); });
  if (clock.outcome.load(relaxed) == state::deadlocked) {    // relaxed: the note has been set
    const bool returned = clock.has_returned.load(relaxed);  // relaxed: the note has been set
    const std::string left = inside.describe_goroutines();
    if (!first.done()) {
      first.detach();
    }
    inside.stop();
    if (first.joinable()) {
      const testing_detail::seed_teller teller(clock.seed);
      first.join();
    }
    testing_detail::throw_bubble_deadlock(left, returned, clock.seed);
  }
  const testing_detail::seed_teller teller(clock.seed);
  return first.join();
}

/// The same with the settings of its runtime alone.
template <class F>
auto bubble(options settings, F&& f) -> go_detail::task_result<F> {
  return bubble(bubble_options{std::move(settings), {}}, std::forward<F>(f));
}

/// The same with one processor and the other settings as by default.
template <class F>
auto bubble(F&& f) -> go_detail::task_result<F> {
  return bubble(bubble_options(), std::forward<F>(f));
}

/// The seed of the caller's bubble, for the texts of assertions. usage_error outside of a bubble.
THRUM_OUT_OF_LINE std::uint64_t seed();

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
