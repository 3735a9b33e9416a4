// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Each step alone; what becomes of goroutines that block is in unit/blocking_test.cpp.

#include <thrum/detail/sched/run/syscall.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"

#include <cstdint>

namespace {

using thrum::sched::g_status;
using thrum::sched::machine;
using thrum::sched::p_status;
using timer_of_caller = thrum::sched::basic_timer<thrum::sched::traits>;

/// An M that holds this P and runs a goroutine.
machine& runs_goroutine(support::lone_scheduler& scheduler, unsigned p) {
  machine& m = scheduler.holder_of(p);
  m.g = &scheduler.g();
  m.g->status = g_status::running;
  return m;
}

/// What the monitor does to a P whose thread is in a call for long.
void take_by_monitor(thrum::sched::processor& p) {
  p.status = p_status::idle;
  p.m = nullptr;
}

int fired_at_return = 0;

}  // namespace

TEST_CASE("a thread that comes back from a short call finds its processor again") {
  support::lone_scheduler scheduler(1);
  machine& m = runs_goroutine(scheduler, 0);
  enter_syscall(m);
  CHECK(m.p == nullptr);
  CHECK(scheduler.p(0).status == p_status::syscall);
  CHECK(m.g->status == g_status::syscall);
  CHECK(&exit_syscall(m) == &m);
  CHECK(m.p == &scheduler.p(0));
  CHECK(scheduler.p(0).status == p_status::running);
  CHECK(scheduler.p(0).m == &m);
  CHECK(m.g->status == g_status::running);
}

TEST_CASE("a processor that was left for a call is taken once") {
  support::lone_scheduler scheduler(1);
  machine& m = runs_goroutine(scheduler, 0);
  machine& thief = scheduler.m();
  CHECK_FALSE(take_from_syscall(thief, scheduler.p(0)));
  enter_syscall(m);
  const std::uint32_t tick = scheduler.p(0).syscall_tick.get();
  CHECK(take_from_syscall(thief, scheduler.p(0)));
  CHECK_FALSE(take_from_syscall(m, scheduler.p(0)));
  CHECK(m.p == nullptr);
  CHECK(thief.p == &scheduler.p(0));
  CHECK(scheduler.p(0).syscall_tick.get() == tick + 1);
}

TEST_CASE("a thread whose processor was taken during its call goes on with one that idles") {
  support::lone_scheduler scheduler(2);
  machine& m = runs_goroutine(scheduler, 0);
  enter_syscall(m);
  take_by_monitor(scheduler.p(0));
  const std::uint32_t tick = scheduler.p(1).schedule_tick.get();
  m.g->flags = thrum::sched::g_short_calls;
  m.call_since = 0;
  CHECK(&exit_syscall(m) == &m);
  CHECK(m.g->flags == 0);  // the next call is measured
  CHECK(m.p == &scheduler.p(1));
  CHECK(scheduler->idle.idle_ps() == 0);
  CHECK(scheduler.p(1).schedule_tick.get() > tick);
}

TEST_CASE(
    "a thread whose processor was taken goes on with one that another left for a call, and runs "
    "its "
    "timers") {
  support::lone_scheduler scheduler(3);
  machine& m = runs_goroutine(scheduler, 0);
  runs_goroutine(scheduler, 1);
  machine& other = runs_goroutine(scheduler, 2);
  timer_of_caller due;
  due.fire = [](timer_of_caller&, bool) noexcept { ++fired_at_return; };
  fired_at_return = 0;
  scheduler.p(2).timers.add(due, 1);
  enter_syscall(m);
  take_by_monitor(scheduler.p(0));
  enter_syscall(other);
  CHECK(&exit_syscall(m) == &m);
  CHECK(m.p == &scheduler.p(2));
  CHECK(scheduler.p(2).m == &m);
  CHECK_FALSE(take_from_syscall(other, scheduler.p(2)));
  CHECK(fired_at_return == 1);
}

TEST_CASE("a thread that comes back from a call does what was asked of its processor") {
  support::lone_scheduler scheduler(1);
  machine& m = runs_goroutine(scheduler, 0);
  enter_syscall(m);
  scheduler.p(0).attention |= thrum::sched::attention_timers;
  exit_syscall(m);
  CHECK(scheduler.p(0).attention == 0);
}

TEST_CASE("a goroutine whose calls are long hands its processor over at once if others wait") {
  for (const bool is_long : {true, false}) {
    for (const bool others_wait : {true, false}) {
      support::lone_scheduler scheduler(1);
      machine& m = runs_goroutine(scheduler, 0);
      machine& taker = scheduler.idle_m();
      m.g->flags = is_long ? thrum::sched::g_long_calls : thrum::sched::g_short_calls;
      if (others_wait) {
        scheduler.push(0, scheduler.g());
      }
      enter_syscall(m);
      const bool handed_over = is_long && others_wait;
      CHECK(taker.next_p == (handed_over ? &scheduler.p(0) : nullptr));
      CHECK(scheduler->hand_offs == (handed_over ? 1 : 0));
      CHECK(take_from_syscall(m, scheduler.p(0)) == !handed_over);
    }
  }
}

TEST_CASE("a goroutine's last call predicts its next one, and a P's last first call a first one") {
  support::lone_scheduler scheduler(1);
  machine& m = runs_goroutine(scheduler, 0);
  constexpr std::int64_t hour = 3'600'000'000'000;
  const auto call = [&](bool is_long) {
    enter_syscall(m);
    m.call_since += is_long ? -hour : hour;  // as if it had begun then
    exit_syscall(m);
  };
  for (const bool is_long : {true, false}) {
    m.g->flags = 0;
    call(is_long);
    const unsigned its_flag = is_long ? thrum::sched::g_long_calls : thrum::sched::g_short_calls;
    CHECK(m.g->flags == its_flag);
    CHECK(scheduler.p(0).first_calls_are_long == is_long);
    m.g->flags = thrum::sched::g_long_calls;
    call(!is_long);
    CHECK(scheduler.p(0).first_calls_are_long == is_long);  // that was no first one
  }
}
