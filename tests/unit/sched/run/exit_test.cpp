// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sched/run/exit.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <type_traits>

using namespace std::chrono_literals;

TEST_CASE("a goroutine that catches goroutine_exit meets it again at its next wait") {
  support::with_runtime([] {
    std::atomic<int> told{0};
    thrum::wait_group group;
    group.go([&] {
      try {
        thrum::this_goroutine::exit();
      } catch (...) {
        ++told;
      }
      try {
        thrum::sleep_for(1h);
      } catch (const thrum::goroutine_exit&) {
        ++told;
        throw;
      }
    });
    group.wait();
    CHECK(told == 2);
  });
}

TEST_CASE("only a wait that was cancelled ends the goroutine") {
  support::with_runtime([] {
    bool went_on = false;
    thrum::spawn([&] {
      using thrum::sched::wake_cause;
      thrum::sched::exit_if_cancelled(wake_cause::notified);
      thrum::sched::exit_if_cancelled(wake_cause::timed_out);
      went_on = true;
    }).join();
    CHECK(went_on);
    std::atomic<bool> ended{false};
    std::atomic<bool> went_on_after{false};
    thrum::wait_group group;
    group.go([&] {
      try {
        thrum::sched::exit_if_cancelled(thrum::sched::wake_cause::cancelled);
        went_on_after = true;
      } catch (const thrum::goroutine_exit&) {
        ended = true;
        throw;
      }
    });
    group.wait();
    CHECK(ended);
    CHECK_FALSE(went_on_after);
  });
}

TEST_CASE("goroutine_exit is no std::exception") {
  CHECK_FALSE(std::is_base_of_v<std::exception, thrum::goroutine_exit>);
}
