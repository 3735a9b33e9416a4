// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/take.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>

namespace {

using thrum::sched::goroutine;
using thrum::sched::machine;
using timer_of_taker = thrum::sched::basic_timer<thrum::sched::traits>;

/// Begins slices until it is the turn of the global queue.
void go_to_global_turn(thrum::sched::processor& p) {
  do {
    begin_slice(p);
  } while (!global_turn(p));
}

int fired_in_time = 0;

}  // namespace

TEST_CASE(
    "what comes from runnext shares the slice before it, and what comes from the ring has its "
    "own") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  goroutine& heir = scheduler.g();
  goroutine& other = scheduler.g();
  scheduler.set_runnext(0, heir);
  scheduler.push(0, other);
  const std::uint32_t tick = m.p->schedule_tick.get();
  CHECK(take_local(m) == &heir);
  CHECK(m.p->schedule_tick.get() == tick);
  CHECK(take_local(m) == &other);
  CHECK(m.p->schedule_tick.get() == tick + 1);
  CHECK(take_local(m) == nullptr);
}

TEST_CASE("an heir beyond the limit goes behind the others only if no monitor ends slices") {
  for (const bool preempts : {false, true}) {
    auto config = support::lone_scheduler::quiet();
    config.preempts = preempts;
    support::lone_scheduler scheduler(1, config);
    machine& m = scheduler.holder_of(0);
    m.p->inheritances_left = 1;
    goroutine& heir = scheduler.g();
    goroutine& waits = scheduler.g();
    scheduler.set_runnext(0, heir);
    scheduler.push(0, waits);
    CHECK(take_local(m) == (preempts ? &heir : &waits));
    CHECK(take_local(m) == (preempts ? &waits : &heir));
    CHECK(m.p->inheritances_left == thrum::sched::traits::most_inheritances);
  }
}

TEST_CASE(
    "an heir beyond the limit lets one of the global queue go first, and runs if none waits") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  goroutine& heir = scheduler.g();
  m.p->inheritances_left = 1;
  scheduler.set_runnext(0, heir);
  const std::uint32_t tick = m.p->schedule_tick.get();
  CHECK(take_local(m) == &heir);
  CHECK(m.p->schedule_tick.get() == tick + 1);
  goroutine& waits = scheduler.g();
  scheduler->global.push_back(waits);
  m.p->inheritances_left = 1;
  scheduler.set_runnext(0, heir);
  CHECK(take_local(m) == &waits);
  CHECK(take_local(m) == &heir);
}

TEST_CASE("a processor takes its share of the global queue: one to run, the others into its ring") {
  support::lone_scheduler scheduler(2);
  machine& m = scheduler.holder_of(0);
  goroutine& first = scheduler.g();
  scheduler->global.push_back(first);
  for (int i = 0; i != 7; ++i) {
    scheduler->global.push_back(scheduler.g());
  }
  const std::uint32_t tick = m.p->schedule_tick.get();
  CHECK(take_global(m) == &first);
  CHECK(m.p->queue.ring_size() != 0);
  CHECK(scheduler->global.size() != 0);
  CHECK(m.p->queue.ring_size() + scheduler->global.size() == 7);
  CHECK(m.p->schedule_tick.get() == tick + 1);
}

TEST_CASE("a goroutine is taken from the global queue on its turn, and on no other") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  go_to_global_turn(*m.p);
  begin_slice(*m.p);
  goroutine& waits = scheduler.g();
  scheduler->global.push_back(waits);
  scheduler->global.push_back(scheduler.g());
  CHECK(take_behind_ring_in_turn(m) == nullptr);
  go_to_global_turn(*m.p);
  CHECK(take_behind_ring_in_turn(m) == &waits);
  CHECK(scheduler->global.size() == 1);
  CHECK(take_behind_ring_in_turn(m) == nullptr);  // the turn is over
}

TEST_CASE("due timers run and no others, and the time of the next one is returned") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  bool ran = false;
  CHECK(run_timers(m, *m.p, ran) == thrum::sched::timer_heap<thrum::sched::traits>::never);
  const std::int64_t distant = thrum::sched::traits::now() + 3'600'000'000'000;
  timer_of_taker due;
  timer_of_taker later;
  due.fire = later.fire = [](timer_of_taker&, bool) noexcept { ++fired_in_time; };
  fired_in_time = 0;
  m.p->timers.add(later, distant);
  CHECK(run_timers(m, *m.p, ran) == distant);
  CHECK_FALSE(ran);
  m.p->timers.add(due, 1);
  CHECK(run_timers(m, *m.p, ran) == distant);
  CHECK(ran);
  CHECK(fired_in_time == 1);
  CHECK(m.p->counts.timers.get() == 1);
}

namespace {

/// Wakes a goroutine on the P that runs it.
struct waking_timer : timer_of_taker {
  machine* m = nullptr;
  goroutine* g = nullptr;
};

}  // namespace

TEST_CASE("sleepers that are due together run in the order of their times, however many they are") {
  constexpr std::size_t all = 1'000;
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  std::deque<waking_timer> timers(all);
  for (std::size_t i = 0; i != all; ++i) {
    waking_timer& t = timers[i];
    t.m = &m;
    t.g = &scheduler.g();
    t.fire = [](timer_of_taker& timer, bool) noexcept {
      auto& self = static_cast<waking_timer&>(timer);
      push_to_ring(*self.m, *self.g);
    };
    m.p->timers.add(t, static_cast<std::int64_t>(i + 1));
  }
  for (std::size_t i = 0; i != all; ++i) {
    bool ran = false;
    if (i % thrum::sched::traits::timer_check_interval == 0) {
      run_timers(m, *m.p, ran);
    }
    CHECK(take_local(m) == timers[i].g);
  }
  CHECK(scheduler->global.empty());
}

TEST_CASE("no poll is due while no goroutine waits for a descriptor") {
  support::lone_scheduler scheduler(1);
  REQUIRE(scheduler.is_open());
  CHECK_FALSE(is_poll_due(*scheduler));
}
