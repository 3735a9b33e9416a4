// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Each step alone, without signals; what becomes of loops is in unit/preemption_test.cpp.

#include <thrum/detail/sched/watch/preempt.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"

#include <cstdint>
#include <thread>
#include <tuple>

namespace {

using thrum::sched::g_status;
using thrum::sched::goroutine;
using thrum::sched::machine;
using thrum::sched::retake_state;

/// An M whose thread computes in a goroutine, outside of the scheduler, on this P.
machine& computes_on(support::lone_scheduler& scheduler, unsigned p) {
  machine& m = scheduler.holder_of(p);
  m.g = &scheduler.g();
  m.g->thread_locks = 0;
  m.inside = 0;
  return m;
}

/// A goroutine that was stopped on a thread of its own and waits for a processor.
goroutine& stopped_loop(support::lone_scheduler& scheduler) {
  goroutine& g = scheduler.g();
  bind(scheduler.m(), g);
  scheduler->global.push_preempted(g, false);
  return g;
}

/// What arrives at the thread of this M when the monitor sends its signal.
void hear_signal(machine& m) {
  const support::on_m here(m);
  thrum::sched::interrupt(&m);
}

}  // namespace

TEST_CASE("the pieces into which timers cut a slice add up to one, and then a new one begins") {
  support::lone_scheduler scheduler(1);
  goroutine& g = scheduler.g();
  g.ran_ns = 0;
  CHECK(has_time_left(g, 4, 10));
  CHECK(has_time_left(g, 4, 10));
  CHECK_FALSE(has_time_left(g, 4, 10));
  CHECK(has_time_left(g, 4, 10));
}

TEST_CASE("a thread that enters keeps its processor, unless the monitor has taken it") {
  using enum retake_state;
  for (const auto& [before, decision, keeps] :
       {std::tuple(none, none, true), std::tuple(wanted, none, true),
        std::tuple(taken, taken, false), std::tuple(decided, wanted, true),
        std::tuple(decided, taken, false)}) {
    support::lone_scheduler scheduler(1);
    machine& m = computes_on(scheduler, 0);
    m.retake = before;
    // Where the monitor decides, the thread waits for what it decides.
    std::thread monitor([&m, &before = before, &decision = decision] {
      if (before == decided) {
        m.retake = decision;
      }
    });
    CHECK(keeps_p(m) == keeps);
    monitor.join();
    CHECK((!keeps || m.retake == none));
  }
}

TEST_CASE("a thread that computed goes on with its processor, or with another if it lost that") {
  for (const bool keeps : {true, false}) {
    support::lone_scheduler scheduler(2);
    machine& m = computes_on(scheduler, 0);
    m.g->status = keeps ? g_status::running : g_status::syscall;
    m.retake = keeps ? retake_state::wanted : retake_state::taken;
    m.unresponsive = !keeps;
    CHECK(&answer_monitor(m) == &m);
    CHECK(m.p == &scheduler.p(keeps ? 0 : 1));
    CHECK(m.retake == retake_state::none);
    CHECK_FALSE(m.unresponsive);
    CHECK(m.g->status == g_status::running);
  }
}

TEST_CASE("a signal is heard only on the thread that the M has now") {
  support::lone_scheduler scheduler(1);
  machine& m = computes_on(scheduler, 0);
  std::thread([&] { m.self.open(); }).join();
  hear_signal(m);
  CHECK(m.heard.get() == 0);
  m.self.open();
  hear_signal(m);
  CHECK(m.heard.get() == 1);
}

TEST_CASE(
    "a signal changes nothing inside the scheduler, nor where no thread takes the processor") {
  using thrum::sched::attention_freeze;
  using thrum::sched::attention_preempt;
  for (const bool inside : {true, false}) {
    support::lone_scheduler scheduler(1);
    machine& m = computes_on(scheduler, 0);
    machine* const idle = inside ? &scheduler.idle_m() : nullptr;
    m.self.open();
    m.inside = inside ? 1 : 0;
    const std::uint32_t asked = attention_preempt | (inside ? attention_freeze : 0U);
    m.p->attention |= asked;
    hear_signal(m);
    CHECK(m.p == &scheduler.p(0));
    CHECK(m.p->attention == asked);  // it is asked again
    CHECK(m.inside == (inside ? 1 : 0));
    CHECK((idle == nullptr || idle->next_p == nullptr));
  }
}

TEST_CASE(
    "a loop that is interrupted leaves its processor to an idle thread, and goes on when it is "
    "given one") {
  support::lone_scheduler scheduler(1);
  machine& m = computes_on(scheduler, 0);
  machine& idle = scheduler.idle_m();
  goroutine& loop = *m.g;
  m.p->attention |= thrum::sched::attention_preempt;
  std::thread thread([&] {
    m.self.open();
    hear_signal(m);
  });
  idle.park.sleep();
  CHECK(idle.next_p == &scheduler.p(0));
  CHECK(scheduler.p(0).counts.preemptions.get() == 1);
  CHECK(scheduler.p(0).attention == 0);
  CHECK(loop.status == g_status::preempted);
  REQUIRE(scheduler->global.take_preempted() == &loop);
  REQUIRE(loop.bound == &m);
  thrum::sched::runtime_scheduler::pass_p(*idle.next_p, m, false);
  thread.join();
  CHECK(m.p == &scheduler.p(0));
  CHECK(m.g == &loop);
  CHECK(m.inside == 0);
  CHECK(loop.status == g_status::running);
  CHECK((loop.flags & thrum::sched::g_bound) == 0);
  CHECK(m.p->resumed_tick == m.p->schedule_tick.get());
}

TEST_CASE("the heir of a loop's slice goes behind the others when the loop is stopped") {
  support::lone_scheduler scheduler(1);
  machine& m = computes_on(scheduler, 0);
  scheduler.idle_m();
  goroutine& first = scheduler.g();
  goroutine& heir = scheduler.g();
  scheduler.push(0, first);
  scheduler.set_runnext(0, heir);
  REQUIRE(hand_over(m));
  CHECK(scheduler.p(0).queue.take_runnext() == nullptr);
  CHECK(scheduler.p(0).queue.pop() == &first);
  CHECK(scheduler.p(0).queue.pop() == &heir);
}

TEST_CASE("two loops exchange a processor directly, without a third thread") {
  support::lone_scheduler scheduler(1);
  machine& m = computes_on(scheduler, 0);
  goroutine& other = stopped_loop(scheduler);
  scheduler.push(0, scheduler.g());  // else they alone share it
  CHECK(find_taker(m) == other.bound);
  CHECK(scheduler->taken.exchanges == 1);
}

TEST_CASE("a processor that is to retire goes to a thread that looks for work, and to no loop") {
  support::lone_scheduler scheduler(1);
  machine& m = computes_on(scheduler, 0);
  stopped_loop(scheduler);
  m.p->attention |= thrum::sched::attention_retire;
  CHECK(find_taker(m) == nullptr);
  machine& idle = scheduler.idle_m();
  CHECK(find_taker(m) == &idle);
}

TEST_CASE("no goroutine waits for a processor whose queue is empty and whose timers are not due") {
  support::lone_scheduler scheduler(1);
  const machine& m = computes_on(scheduler, 0);
  CHECK(is_alone(m));
  thrum::sched::basic_timer<thrum::sched::traits> due;
  scheduler.p(0).timers.add(due, 1);
  CHECK_FALSE(is_alone(m));
  scheduler.p(0).timers.detach(due);
  scheduler.push(0, scheduler.g());
  CHECK_FALSE(is_alone(m));
}

TEST_CASE("a thread that lost its processor and computes is stopped, and its goroutine queues up") {
  support::lone_scheduler scheduler(2);
  machine& m = computes_on(scheduler, 0);
  m.retake = retake_state::taken;
  REQUIRE(stop_without_p(m));
  CHECK(m.p == nullptr);
  CHECK(m.retake == retake_state::none);
  CHECK(scheduler->taken.without_p == 1);
  CHECK(scheduler.started() == 1);
  CHECK(m.g->status == g_status::preempted);
  CHECK(m.g->bound == &m);
  CHECK(scheduler->global.take_preempted() == m.g);
}

TEST_CASE("a thread without a processor is not stopped while another thread is being made") {
  support::lone_scheduler scheduler(1);
  machine& m = computes_on(scheduler, 0);
  m.retake = retake_state::taken;
  support::with_idle_lock(scheduler)->ms.begin_locked(scheduler.m());
  CHECK_FALSE(stop_without_p(m));
  CHECK(m.retake == retake_state::taken);
  CHECK(scheduler->global.empty());
}
