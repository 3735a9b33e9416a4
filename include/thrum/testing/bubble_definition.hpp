// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What testing/bubble.hpp declares: the bodies that are not inlined.
#ifndef THRUM_TESTING_BUBBLE_DEFINITION_HPP
#define THRUM_TESTING_BUBBLE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/random.hpp>
#include <thrum/blocking.hpp>
#include <thrum/deadline.hpp>
#include <thrum/runtime.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/testing/bubble.hpp>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

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

/// The seed of a bubble for which none was given: the environment's, or another one each time.
THRUM_OUT_OF_LINE std::uint64_t choose_seed() {
  if (const char* const text = std::getenv("THRUM_BUBBLE_SEED"); text != nullptr && *text != '\0') {
    const std::string_view digits = text;
    std::uint64_t seed = 0;
    const auto [end, error] = std::from_chars(text, text + digits.size(), seed);
    if (error != std::errc() || end != text + digits.size()) {
      base::throw_usage(
          "bubble: THRUM_BUBBLE_SEED in the environment wants a number, from 0 to 2^64-1");
    }
    return seed;
  }
  static constinit std::atomic<std::uint64_t> made{0};
  // relaxed: only that each is another one
  base::random fresh(static_cast<std::uint64_t>(os::now()) +
                     made.fetch_add(1, std::memory_order_relaxed));
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

THRUM_OUT_OF_LINE void run_bubble(const testing::bubble_options& how, void (*call)(void* f),
                                  void* f) {
  using state = virtual_clock::state;
  traits::virtual_now().store(&now_here, relaxed);  // relaxed: always the same value
  virtual_clock clock;
  clock.now.store(os::now(), relaxed);  // relaxed: nobody knows it yet
  clock.seed = how.seed ? *how.seed : choose_seed();
  options settings = how.runtime;
  settings.procs = settings.procs == 0 ? 1 : settings.procs;
  runtime inside(std::move(settings), {.clock = &clock});
  auto first = inside.spawn([&clock, call, f] {
    const first_scope scope(clock);
    call(f);
  });
  blocking([&] { clock.settled.sleep(); });
  if (clock.outcome.load(relaxed) == state::deadlocked) {    // relaxed: the note has been set
    const bool returned = clock.has_returned.load(relaxed);  // relaxed: the note has been set
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
    base::throw_usage("testing::wait: called outside of a bubble");
  }
  sched::section here;
  sched::park(here, sched::wait_reason::bubble_wait, &testing_detail::commit_until_quiet, nullptr);
}

THRUM_OUT_OF_LINE std::uint64_t seed() {
  const sched::virtual_clock* const clock = testing_detail::clock_of_caller();
  if (clock == nullptr) {
    base::throw_usage("testing::seed: called outside of a bubble");
  }
  return clock->seed;
}

THRUM_OUT_OF_LINE time_point now() noexcept {
  return time_point(std::chrono::nanoseconds(sched::traits::now()));
}

}  // namespace testing

}}  // namespace thrum::THRUM_ABI

#endif
