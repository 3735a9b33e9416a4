// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sched/run/loop.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/lone_scheduler.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

using namespace std::chrono_literals;

TEST_CASE("an M that finds work while it searches leaves a successor that searches on") {
  // Goroutines that start together wake one searcher; only its successors can find the rest.
  // Nothing else wakes an M: no processor is given back before all have met, and no goroutine stays
  // in runnext, where the monitor would see it.
  constexpr int all = 4;
  constexpr int rounds = 20;
  thrum::options options = support::with_procs(all);
  options.preempt = thrum::preemption::none;
  support::with_runtime(options, [&] {
    for (int round = 0; round != rounds; ++round) {
      thrum::sleep_for(200us);  // the others find nothing and go to sleep
      std::atomic<int> there{0};
      const auto end = std::chrono::steady_clock::now() + support::long_time;
      thrum::wait_group group;
      for (int i = 0; i != all; ++i) {
        group.go([&] {
          ++there;
          while (there != all && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
          }
        });
      }
      group.wait();
      const bool met_in_time = std::chrono::steady_clock::now() < end;
      REQUIRE(met_in_time);
    }
  });
}

TEST_CASE("an M that finds all there was while it searches wakes nobody to search on") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(0);
  const auto found_all = [&] {
    scheduler->idle.begin_spinning(m);
    thrum::sched::end_search(m);
    REQUIRE_FALSE(m.spinning);
    return scheduler.started() == 0;
  };
  CHECK(found_all());
  SECTION("unless another goroutine is queued") {
    scheduler.push(0, scheduler.g());
    CHECK_FALSE(found_all());
  }
  constexpr std::int64_t some_day = INT64_MAX / 2;
  thrum::sched::basic_timer<thrum::sched::traits> timer;
  SECTION("unless a timer is armed and nobody sleeps until it is due") {
    scheduler.p(1).timers.add(timer, some_day);
    CHECK_FALSE(found_all());
  }
  SECTION("though a timer is armed, if somebody sleeps until it is due") {
    scheduler.p(1).timers.add(timer, some_day);
    REQUIRE(scheduler->poll.begin_sleep(some_day));
    CHECK(found_all());
  }
}
