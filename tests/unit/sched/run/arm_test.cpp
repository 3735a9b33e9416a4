// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// That no order of steps loses a timer is tried by tests/model/timer_wake_model.cpp.

#include <thrum/detail/sched/run/arm.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

namespace {

using timer_to_arm = thrum::sched::basic_timer<thrum::sched::traits>;
using heap_to_arm = thrum::sched::timer_heap<thrum::sched::traits>;

constexpr std::int64_t when_armed = 1'000;

}  // namespace

TEST_CASE("a timer is armed on the processor of the thread that arms it") {
  support::lone_scheduler scheduler(2);
  const support::on_m here(scheduler.holder_of(1));
  timer_to_arm timer;
  arm(*scheduler, timer, when_armed);
  CHECK(scheduler.p(1).timers.earliest() == when_armed);
  CHECK(scheduler.p(0).timers.size() == 0);
}

TEST_CASE("a timer of a thread without a processor of that scheduler is armed on the first one") {
  support::lone_scheduler others(2);
  support::lone_scheduler scheduler(2);
  timer_to_arm of_thread;
  arm(*scheduler, of_thread, when_armed);
  CHECK(scheduler.p(0).timers.earliest() == when_armed);
  const support::on_m here(others.holder_of(1));
  timer_to_arm of_stranger;
  arm(*scheduler, of_stranger, when_armed - 1);
  CHECK(scheduler.p(0).timers.earliest() == when_armed - 1);
  CHECK(others.p(1).timers.size() == 0);
}

TEST_CASE("a timer that becomes the earliest wakes a processor, and a later one does not") {
  support::lone_scheduler scheduler(2);
  timer_to_arm first;
  timer_to_arm later;
  timer_to_arm earlier;
  arm(*scheduler, first, when_armed);
  REQUIRE(scheduler.started() == 1);
  scheduler.end_search();
  arm(*scheduler, later, when_armed + 1);
  CHECK(scheduler.started() == 1);
  arm(*scheduler, earlier, when_armed - 1);
  CHECK(scheduler.started() == 2);
}

TEST_CASE("a thread that sleeps in the poller is woken for an earlier timer") {
  support::lone_scheduler scheduler(1);
  REQUIRE(scheduler.is_open());
  REQUIRE(scheduler->poll.begin_sleep(when_armed));
  std::atomic<bool> awake{false};
  std::thread sleeper([&] {
    thrum::sched::poll_sink nothing(*scheduler);
    scheduler->poller.poll(-1, nothing);
    awake = true;
  });
  timer_to_arm earlier;
  arm(*scheduler, earlier, when_armed - 1);
  CHECK(support::eventually([&] { return awake.load(); }));
  scheduler->poller.wake();
  sleeper.join();
  CHECK(scheduler.started() == 0);
}

TEST_CASE("a goroutine that continues to compute announces its earliest timer; g0 need not") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(0);
  announce_timer(m, heap_to_arm::added::earliest, when_armed);  // g0 looks at its own P's timers
  CHECK(scheduler.started() == 0);
  m.g = &scheduler.g();
  announce_timer(m, heap_to_arm::added::later, when_armed);
  CHECK(scheduler.started() == 0);
  announce_timer(m, heap_to_arm::added::earliest, when_armed);
  CHECK(scheduler.started() == 1);
}

TEST_CASE("a timer that is armed in the heap of another processor is announced in any case") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(0);
  announce_timer(m, heap_to_arm::added::elsewhere, when_armed);
  CHECK(scheduler.started() == 1);
}
