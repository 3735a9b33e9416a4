// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/ready.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"

#include <cstddef>
#include <utility>

namespace {

using thrum::sched::goroutine;
using thrum::sched::ready;
using thrum::sched::ready_on;

}  // namespace

TEST_CASE(
    "a goroutine that is made ready runs next, and displaces the earlier runnext to the ring") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  const support::on_m here(m);
  goroutine& first = scheduler.g();
  goroutine& second = scheduler.g();
  goroutine& last = scheduler.g();
  ready(first, false);
  ready(second);
  ready(last);
  auto& queue = scheduler.p(0).queue;
  CHECK(queue.take_runnext() == &last);
  CHECK(queue.pop() == &first);
  CHECK(queue.pop() == &second);
  CHECK(last.status == thrum::sched::g_status::runnable);
}

TEST_CASE("a goroutine that a thread without its processor makes ready goes to the global queue") {
  support::lone_scheduler others(1);
  support::lone_scheduler scheduler(1);
  goroutine& g = scheduler.g();
  ready(g);
  CHECK(scheduler.started() == 1);
  CHECK(scheduler->global.pop() == &g);
  CHECK(g.status == thrum::sched::g_status::runnable);
  scheduler->wakers.wait_until_gone();
  const support::on_m of_another_runtime(others.holder_of(0));
  goroutine& other = scheduler.g();
  ready(other);
  CHECK(others.p(0).queue.empty());
  CHECK(scheduler->global.pop() == &other);
}

TEST_CASE("the monitor looks at loops for a goroutine that finds every processor busy") {
  support::lone_scheduler scheduler(1);
  const auto returns = [&] { return scheduler->monitor.returns(); };
  const auto one_by_list = [&] {
    thrum::base::intrusive_queue<goroutine> one;
    one.push_back(&scheduler.g());
    thrum::sched::ready_all(*scheduler, std::move(one));
  };
  ready(scheduler.g());
  one_by_list();
  CHECK(returns() == 0);  // the P that idles has been called
  scheduler.end_search();
  scheduler.holder_of(0);
  ready(scheduler.g());
  CHECK(returns() == 1);
  one_by_list();
  CHECK(returns() == 2);
}

TEST_CASE("what does not fit into the ring goes to the global queue") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  constexpr std::size_t all = thrum::sched::traits::run_queue_capacity + 1;
  for (std::size_t i = 0; i != all; ++i) {
    ready_on(m, scheduler.g(), false);
  }
  CHECK(scheduler->global.size() != 0);
  CHECK(scheduler->global.size() + scheduler.p(0).queue.ring_size() == all);
}

TEST_CASE("a goroutine that must wait behind another wakes an idle processor, credit or not") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(0);
  m.p->wake_credit = 0;
  ready_on(m, scheduler.g(), false);
  REQUIRE(scheduler.started() == 1);
  scheduler.end_search();
  ready_on(m, scheduler.g(), true);
  CHECK(scheduler.started() == 1);
  ready_on(m, scheduler.g(), true);  // whose predecessor goes into the ring
  CHECK(scheduler.started() == 2);
}

TEST_CASE("each processor that is woken for a runnext costs a credit, and without any none is") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(0);
  m.p->wake_credit = 2;
  for (unsigned i = 1; i != 3; ++i) {
    ready_on(m, scheduler.g(), true);
    REQUIRE(scheduler.started() == i);
    CHECK(m.p->wake_credit == 2 - i);
    REQUIRE(m.p->queue.take_runnext() != nullptr);
    scheduler.end_search();
  }
  ready_on(m, scheduler.g(), true);
  CHECK(scheduler.started() == 2);
}

TEST_CASE("a runnext for which no processor can be woken costs no credit and asks for no help") {
  for (const unsigned procs : {1U, 2U}) {
    support::lone_scheduler scheduler(procs);
    thrum::sched::machine& m = scheduler.holder_of(0);
    if (procs == 2) {
      scheduler.holder_of(1);
    }
    ready_on(m, scheduler.g(), true);
    CHECK(m.p->wake_credit == thrum::sched::traits::wake_credit);
    CHECK(scheduler.started() == 0);
    if (procs == 1) {
      ready_on(m, scheduler.g(), true);
      CHECK_FALSE(support::with_idle_lock(scheduler)->idle.spinner_wanted_locked());
    }
  }
}
