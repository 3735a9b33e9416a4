// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/core/monitor_sleep.hpp>

#include <atomic>
#include <cstdint>
#include <thread>

#include "support/catch.hpp"

namespace {

using thrum::sched::monitor_sleep;

/// Whether somebody has woken it since the last look.
bool was_woken(monitor_sleep& monitor) {
  const bool woken = monitor.sleep_for(0);
  monitor.clear();
  return woken;
}

}  // namespace

TEST_CASE("the monitor learns whether it was woken or its time was over") {
  monitor_sleep monitor;
  CHECK_FALSE(monitor.sleep_for(1'000));
  monitor.wake();
  CHECK(monitor.sleep_for(3'600'000'000'000));
  monitor.sleep();
  monitor.clear();
  CHECK_FALSE(monitor.sleep_for(1'000));
}

TEST_CASE("a wake-up of the monitor ends a sleep without end") {
  monitor_sleep monitor;
  std::atomic<bool> done{false};
  std::thread sleeper([&] {
    monitor.sleep();
    done = true;
  });
  monitor.wake();
  sleeper.join();
  CHECK(done);
}

TEST_CASE("a P that leaves the idle list wakes the monitor only where it sleeps as all idle") {
  monitor_sleep monitor;
  CHECK_FALSE(monitor.is_asleep());
  monitor.wake_if_all_idle();
  CHECK_FALSE(was_woken(monitor));
  monitor.announce_idle_sleep();
  CHECK(monitor.is_asleep());
  monitor.wake_if_all_idle();
  CHECK(was_woken(monitor));
  monitor.end_idle_sleep();
  CHECK_FALSE(monitor.is_asleep());
  monitor.wake_if_all_idle();
  CHECK_FALSE(was_woken(monitor));
}

TEST_CASE("a timer wakes the monitor only if that sleeps past it") {
  constexpr std::int64_t until = 1'000'000'000;
  constexpr std::int64_t clearly = 10'000'000;
  monitor_sleep monitor;
  monitor.wake_for(0);  // it is awake
  CHECK_FALSE(was_woken(monitor));
  monitor.plan(until);
  monitor.wake_for(until);
  monitor.wake_for(until + clearly);
  CHECK_FALSE(was_woken(monitor));
  monitor.wake_for(until - clearly);
  CHECK(was_woken(monitor));
}

TEST_CASE("a sleep of the monitor that is shortened or over is not ended by later timers") {
  constexpr std::int64_t until = 1'000'000'000;
  constexpr std::int64_t earlier = until / 2;
  monitor_sleep monitor;
  monitor.plan(until);
  monitor.shorten_plan(earlier);
  monitor.wake_for(earlier);
  CHECK_FALSE(was_woken(monitor));
  monitor.wake_for(earlier / 2);
  CHECK(was_woken(monitor));
  monitor.end_plan();
  monitor.wake_for(earlier / 2);
  CHECK_FALSE(was_woken(monitor));
}
