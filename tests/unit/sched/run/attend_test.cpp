// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/attend.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"
#include "support/writable_socket.hpp"

#include <cstdint>

namespace {

using thrum::sched::attend;
using thrum::sched::goroutine;
using thrum::sched::machine;
using thrum::sched::processor;
using thrum::sched::serve_running;
using timer_to_attend = thrum::sched::basic_timer<thrum::sched::traits>;

int fired_on_request = 0;

/// Arms it on that P, due since long.
void arm_due(processor& p, timer_to_attend& timer) {
  timer.fire = [](timer_to_attend&, bool) noexcept { ++fired_on_request; };
  fired_on_request = 0;
  p.timers.add(timer, 1);
}

}  // namespace

TEST_CASE("the end of a slice moves runnext behind the others, and no other request does") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  goroutine& first = scheduler.g();
  goroutine& heir = scheduler.g();
  scheduler.set_runnext(0, heir);
  m.p->attention |= thrum::sched::attention_timers;
  CHECK(attend(m));
  CHECK(m.p->queue.peek_runnext() == &heir);
  scheduler.push(0, first);
  const std::uint32_t tick = m.p->schedule_tick.get();
  m.p->attention |= thrum::sched::attention_preempt;
  CHECK(attend(m));
  CHECK(m.p->attention == 0);
  CHECK(m.p->schedule_tick.get() == tick + 1);
  CHECK(m.p->queue.take_runnext() == nullptr);
  CHECK(m.p->queue.pop() == &first);
  CHECK(m.p->queue.pop() == &heir);
}

TEST_CASE("a processor that is to retire leaves its goroutines to the others and is gone") {
  support::lone_scheduler scheduler(2);
  machine& m = scheduler.holder_of(1);
  goroutine& g = scheduler.g();
  scheduler.push(1, g);
  REQUIRE(scheduler->set_procs(1) == 0);
  REQUIRE(m.p == &scheduler.p(1));  // until it attends to it
  CHECK_FALSE(attend(m));
  CHECK(m.p == nullptr);
  CHECK(scheduler->ps.live() == 1);
  CHECK(scheduler->global.pop() == &g);
}

TEST_CASE("a goroutine whose processor has due timers runs them and goes on") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  m.g = &scheduler.g();
  timer_to_attend due;
  arm_due(*m.p, due);
  m.p->attention |= thrum::sched::attention_timers;
  CHECK(&serve_running(m) == &m);
  CHECK(fired_on_request == 1);
  CHECK(m.p->attention == 0);
  CHECK(m.p->counts.preemptions.get() == 0);
}

TEST_CASE("a goroutine does not give way for a slice that an earlier one had") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  m.g = &scheduler.g();
  m.p->asked_tick = m.p->schedule_tick.get();
  m.p->attention |= thrum::sched::attention_preempt;
  begin_slice(*m.p);
  CHECK(&serve_running(m) == &m);
  CHECK(m.p->attention == 0);
  CHECK(m.p->counts.preemptions.get() == 0);
}

TEST_CASE("a processor that is asked to poll runs what the poller has made ready") {
  support::lone_scheduler scheduler(1);
  REQUIRE(scheduler.is_open());
  const support::writable_socket socket;
  REQUIRE(socket.is_open());
  REQUIRE(socket.add_to(scheduler->poller, (std::uint64_t{7} << 32) + 1));
  goroutine& g = scheduler.g();
  scheduler.ready_by_event = {&g};
  machine& m = scheduler.holder_of(0);
  m.p->attention |= thrum::sched::attention_poll;
  CHECK(attend(m));
  CHECK(m.p->queue.pop() == &g);
  socket.remove_from(scheduler->poller);
}
