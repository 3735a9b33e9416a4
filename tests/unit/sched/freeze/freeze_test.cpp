// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/freeze/freeze.hpp>
#include <thrum/detail/sched/freeze/freeze_holder.hpp>

#include <thrum/detail/sched/run/syscall.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

namespace {

using thrum::sched::freezer;
using thrum::sched::machine;

constexpr std::int64_t all_the_time = std::chrono::nanoseconds(support::long_time).count();

/// The right to freeze, for a scope.
struct right_to_freeze {
  explicit right_to_freeze(support::lone_scheduler& of) : scheduler(of) {
    scheduler->freeze.begin_exclusive();
  }
  ~right_to_freeze() { scheduler->freeze.end_exclusive(); }
  support::lone_scheduler& scheduler;
};

/// A thread that holds a P and comes by all the time to do what is asked of it.
struct attending_holder {
  explicit attending_holder(machine& m)
      : thread([this, &m] {
          while (!stop) {
            wait_if_frozen(m);
            ++steps;
          }
        }) {}
  ~attending_holder() {
    stop = true;
    thread.join();
  }
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> steps{0};
  std::thread thread;
};

}  // namespace

TEST_CASE("a freeze is complete when the holders of all processors wait, and they go on after it") {
  support::lone_scheduler scheduler(3);
  machine& first = scheduler.holder_of(0);
  machine& second = scheduler.holder_of(1);
  attending_holder one(first);
  attending_holder other(second);
  const right_to_freeze mine(scheduler);
  std::uint64_t steps = 0;
  {
    const freezer frozen(*scheduler, nullptr, all_the_time);
    REQUIRE(frozen.complete());
    steps = one.steps + other.steps;
    std::this_thread::yield();
    CHECK(one.steps + other.steps == steps);
  }
  CHECK(support::eventually([&] { return one.steps + other.steps > steps + 10; }));
}

TEST_CASE("a freeze waits for no processor that idles, or that its thread has left for a call") {
  support::lone_scheduler scheduler(2);
  machine& caller = scheduler.holder_of(0);
  caller.g = &scheduler.g();
  enter_syscall(caller);
  const right_to_freeze mine(scheduler);
  const freezer frozen(*scheduler, nullptr, 0);
  CHECK(frozen.complete());
}

TEST_CASE("a freeze gives up on a holder that does not come by, and says so") {
  support::lone_scheduler scheduler(2);
  scheduler.holder_of(1);
  const right_to_freeze mine(scheduler);
  const freezer frozen(*scheduler, nullptr, 0);
  CHECK_FALSE(frozen.complete());
}

TEST_CASE("a freeze does not wait for the thread that freezes") {
  support::lone_scheduler scheduler(2);
  machine& own = scheduler.holder_of(0);
  const right_to_freeze mine(scheduler);
  const freezer frozen(*scheduler, &own, 0);
  CHECK(frozen.complete());
}

TEST_CASE("a thread that is given a processor during a freeze waits for its end") {
  support::lone_scheduler scheduler(1);
  machine& late = scheduler.m();
  std::atomic<bool> goes_on{false};
  std::thread taker;
  const right_to_freeze mine(scheduler);
  {
    const freezer frozen(*scheduler, nullptr, 0);
    REQUIRE(frozen.complete());
    scheduler->acquire_p(late, scheduler.p(0));
    taker = std::thread([&] {
      wait_if_frozen(late);
      goes_on = true;
    });
    CHECK(support::eventually(
        [&] { return scheduler.p(0).frozen_in == scheduler->freeze.own_phase() || goes_on; }));
    CHECK_FALSE(goes_on);
  }
  taker.join();
}

TEST_CASE(
    "the callers of a goroutine are those that the thread has noted on which it stands still") {
  support::lone_scheduler scheduler(2);
  machine& m = scheduler.holder_of(0);
  m.g = &scheduler.g();
  machine& own = scheduler.holder_of(1);
  own.g = &scheduler.g();
  const attending_holder holder(m);
  const right_to_freeze mine(scheduler);
  const freezer frozen(*scheduler, &own, all_the_time);
  REQUIRE(frozen.complete());
  CHECK(frozen.callers_of(*m.g) == &m.callers);
  CHECK(frozen.callers_of(*own.g) == &own.callers);
  CHECK(frozen.callers_of(scheduler.g()) == nullptr);
}

TEST_CASE("the callers of a goroutine are unknown if its thread did not report") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  m.g = &scheduler.g();
  const right_to_freeze mine(scheduler);
  const freezer frozen(*scheduler, nullptr, 0);
  CHECK(frozen.callers_of(*m.g) == nullptr);
}

TEST_CASE("a holder that has lost the request is asked again") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  std::atomic<bool> stop{false};
  const right_to_freeze mine(scheduler);
  std::thread holder([&] {
    support::eventually([&] { return m.p->attention != 0; });
    m.p->attention = 0;
    while (!stop) {
      wait_if_frozen(m);
    }
  });
  {
    const freezer freeze(*scheduler, nullptr, all_the_time);
    CHECK(freeze.complete());
  }
  stop = true;
  holder.join();
}
