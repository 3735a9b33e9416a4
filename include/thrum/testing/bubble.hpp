// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// bubble: a test in virtual time, which waits for no clock.
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
// A bubble is a runtime of its own. Its clock stands while any goroutine can run, and jumps to the next
// timer when every goroutine is durably blocked: on a channel, a select, a sleep, a condition, a
// wait_group, a join, a lock with a deadline. A goroutine is not durably blocked while it waits for a mutex
// without a deadline or for a descriptor, or is inside blocking(): code outside of the bubble may end
// that, so the clock waits.
//
// It does not wait for what comes from outside over a channel, a condition or a join: receive that
// inside blocking(). When f has returned, time stands: goroutines that can run do so, to their ends or
// until they are blocked, and those that are blocked then, also in a sleep, are a deadlock.
//
// Goroutines that wake at the same moment run in a random order, which a seed decides, as it does what
// a select chooses. With one processor the same seed gives the same order again, as long as no
// time slice ends (preemption::none makes sure). What reports a failure of a bubble (a deadlock, an
// exception, a panic) names the seed; THRUM_BUBBLE_SEED=n in the environment repeats it. An assertion
// that throws nothing may name testing::seed().
//
// All time of the library is the bubble's there; std::chrono::steady_clock is not,
// thrum::testing::now() is. Inside blocking() a sleep takes its length in real time, after which
// the bubble's clock is where it was: do not wait there for a timer, a ticker or a context's
// deadline, which go by that clock.
//
// Source: Go, testing/synctest.
#ifndef THRUM_TESTING_BUBBLE_HPP
#define THRUM_TESTING_BUBBLE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/task.hpp>
#include <thrum/join_handle.hpp>
#include <thrum/options.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
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

}}}  // namespace thrum::THRUM_ABI::testing_detail

namespace thrum { inline namespace THRUM_ABI { namespace testing {

/// How a bubble is made.
struct bubble_options {
  /// The settings of its runtime: one processor unless they say otherwise.
  options runtime = {};
  /// What decides the order of goroutines that wake together. None: what THRUM_BUBBLE_SEED says, else
  /// another one each time.
  std::optional<std::uint64_t> seed = {};
};

}}}  // namespace thrum::THRUM_ABI::testing

namespace thrum { inline namespace THRUM_ABI { namespace testing_detail {

/// A bubble around call(f), from its making to its end: the same for every f.
void run_bubble(const testing::bubble_options& how, void (*call)(void* f), void* f);

/// What the first goroutine calls, and where its result goes. The function is destroyed there, as that of
/// any goroutine: what it holds may wait then, for a time that only the bubble has.
template <class F>
class bubble_body {
 public:
  using result = go_detail::task_result<F>;

  template <class From>
  bubble_body(std::in_place_t, From&& from) : function_(std::forward<From>(from)) {}

  static void call(void* body) {
    auto& self = *static_cast<bubble_body*>(body);
    const function_end end{self.function_};
    if constexpr (std::is_void_v<result>) {
      std::move (*self.function_)();
    } else if constexpr (std::is_reference_v<result>) {
      auto&& referred = std::move(*self.function_)();
      self.value_.emplace(std::addressof(referred));
    } else {
      self.value_.emplace(std::move(*self.function_)());
    }
  }

  result take() {
    if constexpr (std::is_reference_v<result>) {
      return static_cast<result>(**value_);
    } else if constexpr (!std::is_void_v<result>) {
      return std::move(*value_);
    }
  }

 private:
  struct function_end {
    std::optional<F>& function;
    ~function_end() {
      const sched::uncancellable still;
      function.reset();
    }
  };

  std::optional<F> function_;
  std::optional<typename go_detail::result_slot<result>::stored> value_;
};

}}}  // namespace thrum::THRUM_ABI::testing_detail

namespace thrum { inline namespace THRUM_ABI { namespace testing {

/// Runs f as the first goroutine of a bubble, waits until every goroutine in it has ended, and
/// returns what f returned or throws what left it. Throws testing::deadlock if goroutines are left
/// that can never run again, or that wait for a time that does not come as f has returned; its text
/// names them and where they wait, and they are unwound. Blocks the caller, goroutine or thread.
/// Bubbles may run side by side, and one inside another.
template <class F>
auto bubble(const bubble_options& how, F&& f) -> go_detail::task_result<F> {
  if constexpr (go_detail::is_task<F>()) {
    testing_detail::bubble_body<std::decay_t<F>> body(std::in_place, std::forward<F>(f));
    testing_detail::run_bubble(how, &body.call, &body);
    return body.take();
  }
}

/// bubble(how, f) with the settings of its runtime alone.
template <class F>
auto bubble(options settings, F&& f) -> go_detail::task_result<F> {
  return bubble(bubble_options{std::move(settings), {}}, std::forward<F>(f));
}

/// bubble(how, f) with one processor and the other settings as by default.
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

#if THRUM_BODIES
#include <thrum/blocking.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/random.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/runtime.hpp>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI {

namespace testing_detail {

THRUM_OUT_OF_LINE std::int64_t now_here() noexcept {
  const auto* const m = current_m();
  if (m == nullptr || !m->scheduler->clock.is_virtual()) {
    return os::now();
  }
  return m->scheduler->clock.own().now.get();
}

THRUM_OUT_OF_LINE bool commit_until_quiet(machine& m, goroutine& g, void*) noexcept {
  scoped guard(m.scheduler->idle.lock());
  m.scheduler->clock.own().quiet_waiters.push_back(&g);
  return true;
}

/// The seed of a bubble for which none was given: the environment's, or another one each time.
THRUM_OUT_OF_LINE std::uint64_t choose_seed() {
  if (const char* const text = std::getenv("THRUM_BUBBLE_SEED"); text != nullptr && *text != '\0') {
    const std::string_view digits = text;
    std::uint64_t seed = 0;
    const auto [end, error] = std::from_chars(text, text + digits.size(), seed);
    if (error != std::errc() || end != text + digits.size()) {
      base::throw_usage(
          "bubble: the environment variable THRUM_BUBBLE_SEED must be a number from 0 to 2^64-1");
    }
    return seed;
  }
  static constinit base::shared_figure<std::uint64_t> made{0};
  base::random fresh(static_cast<std::uint64_t>(os::now()) + made.add());
  return fresh.next();  // 32 bits: a person may have to copy it
}

/// `returned`: the first goroutine has.
[[noreturn]] THRUM_COLD THRUM_OUT_OF_LINE void throw_bubble_deadlock(const std::string& goroutines,
                                                                     bool returned,
                                                                     std::uint64_t seed) {
  std::string text = returned
                         ? "bubble: its function has returned, and goroutines are still blocked"
                         : "bubble: all goroutines are blocked";
  text.append(" - deadlock (seed ").append(std::to_string(seed)).append(")\n\n").append(goroutines);
#if THRUM_EXCEPTIONS
  throw testing::deadlock(text);
#else
  base::fatal(text);
#endif
}

/// Says on standard error which seed a bubble had that an exception has left.
THRUM_OUT_OF_LINE void tell_seed(std::uint64_t seed) {
  const std::string number = std::to_string(seed);
  base::write_error("thrum: an exception has left a bubble with seed " + number +
                    "; repeat its order with THRUM_BUBBLE_SEED=" + number + "\n");
}

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
    clock_.has_begun.set(true);
  }
  first_scope(const first_scope&) = delete;
  first_scope& operator=(const first_scope&) = delete;
  ~first_scope() { clock_.has_returned.set(true); }

 private:
  virtual_clock& clock_;
};

THRUM_OUT_OF_LINE void run_bubble(const testing::bubble_options& how, void (*call)(void* f),
                                  void* f) {
  using state = virtual_clock::state;
  traits::virtual_now().set(&now_here);
  virtual_clock clock;
  clock.now.set(os::now());
  clock.seed = how.seed ? *how.seed : choose_seed();
  options settings = how.runtime;
  settings.procs = settings.procs == 0 ? 1 : settings.procs;
  runtime inside(std::move(settings), {.clock = &clock});
  auto first = inside.spawn([&clock, call, f] {
    const first_scope scope(clock);
    call(f);
  });
  blocking([&] { clock.settled.sleep(); });
  if (clock.outcome.get() == state::deadlocked) {
    const bool returned = clock.has_returned.get();
    const std::string left = inside.describe_goroutines();
    if (!first.done()) {
      first.detach();
    }
    inside.stop();
    if (first.joinable()) {
      const seed_teller teller(clock.seed);
      first.join();
    }
    throw_bubble_deadlock(left, returned, clock.seed);
  }
  const seed_teller teller(clock.seed);
  first.join();
}

/// The virtual clock that the caller lives by; null outside of a bubble.
inline virtual_clock* clock_of_caller() noexcept {
  return is_goroutine() && current_m()->scheduler->clock.is_virtual()
             ? &current_m()->scheduler->clock.own()
             : nullptr;
}

}  // namespace testing_detail

namespace testing {

THRUM_OUT_OF_LINE void wait() {
  if (testing_detail::clock_of_caller() == nullptr) {
    base::throw_usage("testing::wait: called outside of a bubble; call it inside testing::bubble");
  }
  sched::section here;
  sched::park(here, sched::wait_reason::bubble_wait, &testing_detail::commit_until_quiet, nullptr);
}

THRUM_OUT_OF_LINE std::uint64_t seed() {
  const sched::virtual_clock* const clock = testing_detail::clock_of_caller();
  if (clock == nullptr) {
    base::throw_usage("testing::seed: called outside of a bubble; call it inside testing::bubble");
  }
  return clock->seed;
}

THRUM_OUT_OF_LINE time_point now() noexcept {
  return time_point(std::chrono::nanoseconds(sched::traits::now()));
}

}  // namespace testing

}}  // namespace thrum::THRUM_ABI
#endif

#endif
