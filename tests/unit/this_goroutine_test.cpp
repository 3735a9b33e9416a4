// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/this_goroutine.hpp>

#include "support/test.hpp"

namespace this_goroutine = thrum::this_goroutine;

TEST_CASE("outside of a goroutine there is no id, no name, no stop, and yield yields the thread") {
  CHECK(this_goroutine::id() == 0);
  this_goroutine::name("nobody");
  CHECK(this_goroutine::name().empty());
  CHECK_FALSE(this_goroutine::stop_token().stop_possible());
  this_goroutine::yield();
  this_goroutine::preemption_point();
  const auto begin = std::chrono::steady_clock::now();
  this_goroutine::sleep_for(1ms);
  CHECK(std::chrono::steady_clock::now() - begin >= 1ms);
  CHECK(support::is_usage_error("this_goroutine::exit", [] { this_goroutine::exit(); }));
}

IN_RUNTIME("a goroutine has the name that it gives itself, cut at 23 characters") {
  CHECK(this_goroutine::name().empty());
  this_goroutine::name("worker");
  this_goroutine::yield();
  CHECK(this_goroutine::name() == "worker");
  const std::string_view longer = "a name of more than twenty-three characters";
  this_goroutine::name(longer);
  CHECK(this_goroutine::name() == longer.substr(0, 23));
  CHECK(thrum::spawn([] { return std::string(this_goroutine::name()); }).join().empty());
}

TEST_CASE("yield on one processor lets all others run once before it returns") {
  thrum::options options = with_procs(1);
  options.preempt = thrum::preemption::none;  // else one whose slice is over misses its turn
  with_runtime(options, [] {
    constexpr int n = 10;
    std::vector<int> turns;
    in_goroutines(n, [&turns](int i) {
      for (int round = 0; round != 3; ++round) {
        turns.push_back(i);
        this_goroutine::yield();
      }
    });
    REQUIRE(turns.size() == 3 * n);
    for (std::size_t round = 0; round != 3; ++round) {
      const auto begin = turns.begin() + static_cast<std::ptrdiff_t>(round * n);
      std::vector<int> in_round(begin, begin + n);
      std::sort(in_round.begin(), in_round.end());
      for (int i = 0; i != n; ++i) {
        REQUIRE(in_round[static_cast<std::size_t>(i)] == i);
      }
    }
  });
}

IN_RUNTIME("yield alone returns") {
  const auto own = this_goroutine::id();
  for (int i = 0; i != 1'000; ++i) {
    this_goroutine::yield();
  }
  CHECK(this_goroutine::id() == own);
  CHECK(thrum::stats().running == 1);
}

namespace {

/// So many that hardly any time goes into the clock that is asked in between: where that is a call of the
/// system, a thread that asks all the time seems to block there, and loses its processor for that.
void pass_preemption_points() {
  for (int i = 0; i != 10'000; ++i) {
    this_goroutine::preemption_point();
  }
}

}  // namespace

TEST_CASE("a loop with preemption points gives its only processor to others") {
  thrum::options options = with_procs(1);
  options.time_slice = 1ms;
  with_runtime(options, [] {
    std::atomic<bool> stop{false};
    thrum::go([&] {
      this_goroutine::yield();
      stop = true;
    });
    const auto end = std::chrono::steady_clock::now() + support::long_time;
    while (!stop && std::chrono::steady_clock::now() < end) {
      pass_preemption_points();
    }
    CHECK(stop);
    // Or the system kept our thread waiting, and the processor was taken as from a call that blocks.
    CHECK(thrum::stats().preemptions + thrum::stats().retakes > 0);
  });
}

IN_RUNTIME("exit runs the destructors on the stack and ends nothing else") {
  auto resource = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = resource;
  std::atomic<bool> went_on{false};
  thrum::wait_group group;
  group.go([&, held = std::move(resource)]() mutable {
    const std::shared_ptr<int> on_stack = std::move(held);
    struct inner {
      [[noreturn]] static void leave() { this_goroutine::exit(); }
    };
    try {
      inner::leave();
    } catch (const std::exception&) {
      went_on = true;  // goroutine_exit is none
    }
    went_on = true;
  });
  group.wait();
  CHECK(support::eventually([&] { return watch.expired(); }));
  CHECK_FALSE(went_on);
}

TEST_CASE("the stop token is the runtime's: it turns when the runtime stops") {
  std::atomic<bool> has_seen_stop{false};
  {
    std::atomic<bool> started{false};
    thrum::runtime runtime(support::environment_options());
    runtime.go([&] {
      const std::stop_token token = this_goroutine::stop_token();
      started = token.stop_possible() && !token.stop_requested();
      while (!token.stop_requested()) {
        this_goroutine::yield();
      }
      has_seen_stop = true;
    });
    REQUIRE(support::eventually([&] { return started.load(); }));
  }
  CHECK(has_seen_stop);
}
