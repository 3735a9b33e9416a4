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
  CHECK(&exit_syscall(m) == &m);
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
