// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/core/scheduler.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

namespace {

constexpr unsigned many = 200;

constexpr std::int64_t far_off = 1'000'000'000'000'000'000;

using traits_of_procs = thrum::sched::traits;
using timer_of_procs = thrum::sched::basic_timer<traits_of_procs>;

/// How many Ps the calling goroutine's thread has walked over when it searched last.
std::uint32_t walked() {
  const thrum::sched::section here;
  return here.m()->order.count();
}

thrum::sched::runtime_scheduler& own_scheduler() {
  const thrum::sched::section here;
  return *here.m()->scheduler;
}

}  // namespace

TEST_CASE("a search walks over the processors in force after there were many more") {
  thrum::runtime runtime(support::with_procs(2));
  runtime.procs(many);
  runtime.procs(2);
  runtime.block_on([] {
    CHECK(eventually([] { return walked() == 2; }));  // each sleep ends in a search
  });
}

TEST_CASE("no walk of an M or of the monitor goes over processors that are out of service") {
  thrum::runtime runtime(support::with_procs(2));
  const auto& scheduler = runtime.scheduler();
  runtime.block_on([] { thrum::fork_join([] {}, [] {}); });
  runtime.procs(many);
  runtime.block_on([] {
    thrum::parallel_for(std::size_t{0}, std::size_t{many},
                        [](std::size_t) { thrum::sleep_for(1us); });
  });
  runtime.procs(2);
  // One that was busy retires with its next search; the monitor comes by when something runs.
  CHECK(eventually([&] {
    runtime.block_on([] { thrum::sleep_for(1us); });
    return scheduler.ps.live() == 2 && scheduler.ps.forking() == 2;
  }));
  unsigned steps = 0;
  auto& walked_over = runtime.scheduler();
  walked_over.for_each_live_p([&](const auto&) { ++steps; });
  walked_over.for_each_forking_p([&](const auto&) { ++steps; });
  CHECK(steps == 4);
  CHECK(scheduler.ps.made() == many);
}

TEST_CASE("a processor that computes while their number falls is searched until it is laid down") {
  std::atomic<int> busy{0};
  std::atomic<bool> stop{false};
  thrum::runtime runtime(support::with_procs(3));
  auto* const scheduler = runtime.block_on([] { return &own_scheduler(); });
  for (int i = 0; i != 3; ++i) {
    runtime.go([&] {
      const thrum::sched::section here;  // nobody takes the processor
      ++busy;
      while (!stop) {
      }
    });
  }
  REQUIRE(eventually([&] { return busy == 3; }));
  runtime.procs(1);
  CHECK(scheduler->ps.live() == 3);
  stop = true;
  CHECK(eventually([&] { return scheduler->ps.live() == 1; }));
}

TEST_CASE("timers and goroutines go on when processors go, and when they come back") {
  std::atomic<int> awake{0};
  thrum::runtime runtime(support::with_procs(4));
  constexpr int sleepers = 200;
  for (int i = 0; i != sleepers; ++i) {
    runtime.go([&] {
      for (int n = 0; n != 10; ++n) {
        thrum::sleep_for(200us);
      }
      ++awake;
    });
  }
  for (int i = 0; i != 20; ++i) {
    runtime.procs(1);
    thrum::sleep_for(100us);
    runtime.procs(many);
    thrum::sleep_for(100us);
    runtime.procs(2);
  }
  CHECK(eventually([&] { return awake == sleepers; }));
  runtime.block_on([] { CHECK(own_scheduler().ps.live() >= 2); });
}

TEST_CASE("a processor that is added runs what waits for one") {
  std::atomic<bool> busy{false};
  std::atomic<bool> ran{false};
  std::atomic<bool> stop{false};
  thrum::runtime runtime(support::with_procs(1));
  runtime.go([&] {
    const thrum::sched::section here;  // nobody takes the processor
    busy = true;
    while (!stop) {
    }
  });
  REQUIRE(eventually([&] { return busy.load(); }));
  runtime.go([&] { ran = true; });
  runtime.procs(2);
  CHECK(eventually([&] { return ran.load(); }));
  stop = true;
}

TEST_CASE("the first processor takes over the timers of a removed one, and is notified") {
  support::lone_scheduler scheduler(2);
  timer_of_procs timer;
  scheduler.p(1).timers.add(timer, far_off);
  REQUIRE(scheduler->set_procs(1) == 0);
  CHECK(scheduler.p(1).timers.size() == 0);
  CHECK(scheduler.p(0).timers.earliest_armed() == far_off);
  CHECK(scheduler.p(0).attention == thrum::sched::attention_timers);
}

TEST_CASE("a processor without timers goes without a word to the first one") {
  support::lone_scheduler scheduler(2);
  REQUIRE(scheduler->set_procs(1) == 0);
  CHECK(scheduler.p(0).attention == 0);
}

TEST_CASE("a processor that goes while its runtime ends keeps the timers that are discarded") {
  support::lone_scheduler scheduler(2);
  timer_of_procs timer;
  scheduler.p(1).timers.add(timer, far_off);
  scheduler->discards_timers = true;
  REQUIRE(scheduler->set_procs(1) == 0);
  CHECK(scheduler.p(1).timers.size() == 1);
  CHECK(scheduler.p(0).timers.size() == 0);
}

TEST_CASE("a processor that is laid down leaves all that it has to the others") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(1);
  thrum::sched::goroutine& elsewhere = scheduler.g();
  scheduler->global.push_back(elsewhere);
  thrum::sched::goroutine& queued = scheduler.g();
  scheduler.push(1, queued);
  thrum::sched::goroutine& dead = scheduler.g();
  REQUIRE_FALSE(scheduler.p(1).free_gs.put(dead));
  timer_of_procs timer;
  scheduler.p(1).timers.add(timer, far_off);
  REQUIRE(scheduler->set_procs(1) == 0);
  CHECK(scheduler.p(1).attention == thrum::sched::attention_retire);
  CHECK(scheduler->ps.live() == 2);
  scheduler->retire_p(m);
  CHECK(m.p == nullptr);
  CHECK(scheduler.p(1).status == thrum::sched::p_status::dead);
  CHECK(scheduler.p(1).attention == 0);
  CHECK(scheduler->ps.live() == 1);
  CHECK(scheduler->global.pop() == &queued);
  CHECK(scheduler->global.pop() == &elsewhere);
  CHECK(scheduler.p(1).free_gs.size() == 0);
  CHECK(&scheduler.g() == &dead);
  CHECK(scheduler.p(0).timers.size() == 1);
}

TEST_CASE("a processor is not laid down if their number has risen again meanwhile") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(1);
  thrum::sched::goroutine& queued = scheduler.g();
  scheduler.push(1, queued);
  REQUIRE(scheduler->set_procs(1) == 0);
  REQUIRE(scheduler->set_procs(2) == 0);
  CHECK(scheduler.p(1).attention == 0);
  scheduler->retire_p(m);  // it had seen the request before
  CHECK(m.p == &scheduler.p(1));
  CHECK(scheduler->global.empty());
  CHECK_FALSE(scheduler.p(1).queue.empty());
}
