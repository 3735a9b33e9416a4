// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/core/scheduler.hpp>

#include <thrum/detail/sched/core/counters.hpp>
#include <thrum/detail/sched/core/lifetime.hpp>

#include "support/test.hpp"

#include <csignal>

#include "support/bare_scheduler.hpp"
#include "support/child.hpp"

namespace {

using thrum::sched::p_status;
using thrum::sched::processor;

}  // namespace

TEST_CASE("an M holds a P from acquire_p to release_p, and each slice is a new one") {
  support::bare_scheduler scheduler(1);
  REQUIRE(scheduler.open() == 0);
  scheduler.take_all_ps();
  const auto m = scheduler.stray_m();
  processor& p = scheduler->ps[0];
  const std::uint32_t before = p.schedule_tick.get();
  scheduler->acquire_p(*m, p);
  CHECK(m->p == &p);
  CHECK(p.m == m.get());
  CHECK(p.status == p_status::running);
  CHECK(p.schedule_tick.get() != before);
  CHECK(&scheduler->release_p(*m) == &p);
  CHECK(m->p == nullptr);
  CHECK(p.m == nullptr);
  CHECK(p.status == p_status::idle);
}

TEST_CASE("an M takes no second P") {
  CHECK(support::breaks("m_has_no_p_yet", [] {
    support::bare_scheduler scheduler(1);
    const auto m = scheduler.stray_m();
    processor first(0);
    processor second(1);
    scheduler->acquire_p(*m, first);
    scheduler->acquire_p(*m, second);
  }));
}

TEST_CASE("a P that is laid down is idle if it is among those in force, and else dead") {
  support::bare_scheduler scheduler(2);
  REQUIRE(scheduler.open() == 0);
  scheduler.take_all_ps();
  REQUIRE(scheduler->set_procs(1) == 0);
  const thrum::sched::scoped guard(scheduler->idle.lock());
  scheduler->put_idle_locked(scheduler->ps[1]);
  CHECK(scheduler->ps[1].status == p_status::dead);
  CHECK(scheduler->idle.idle_ps() == 0);
  scheduler->put_idle_locked(scheduler->ps[0]);
  CHECK(scheduler->ps[0].status == p_status::idle);
  CHECK(scheduler->idle.idle_ps() == 1);
}

TEST_CASE("a walk over all Ps comes to dead ones, one over the live Ps does not") {
  support::bare_scheduler scheduler(3);
  REQUIRE(scheduler.open() == 0);
  REQUIRE(scheduler->set_procs(2) == 0);
  std::vector<std::uint32_t> all;
  std::vector<std::uint32_t> live;
  scheduler->for_each_p([&](const processor& p) { all.push_back(p.id); });
  scheduler->for_each_live_p([&](const processor& p) { live.push_back(p.id); });
  CHECK(all == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(live == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("goroutines are counted from their start to their end, whichever thread started them") {
  support::bare_scheduler scheduler(2);
  REQUIRE(scheduler.open() == 0);
  CHECK(scheduler->goroutine_count() == 0);
  scheduler->count_created_elsewhere();
  CHECK(scheduler->created_elsewhere() == 1);
  scheduler->ps[0].counts.created.add();
  scheduler->ps[1].counts.created.add();
  CHECK(scheduler->goroutine_count() == 3);
  scheduler->ps[1].counts.finished.add_release();
  CHECK(scheduler->goroutine_count() == 2);
  scheduler->ps[1].counts.created.add();
  REQUIRE(scheduler->set_procs(1) == 0);  // those of a P that went out of service, too
  CHECK(scheduler->goroutine_count() == 3);
}

TEST_CASE("in a child process a runtime starts no goroutine, and says what to do") {
  const support::child_result end = support::run_in_child([] {
    support::bare_scheduler scheduler(1);
    scheduler->is_copy = true;
    scheduler->count_created_elsewhere();
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("after fork") != std::string::npos);
}

TEST_CASE("numbers of goroutines are given once, and begin with 1") {
  support::bare_scheduler scheduler(1);
  CHECK(scheduler->take_ids(1) == 1);
  CHECK(scheduler->take_ids(16) == 2);
  CHECK(scheduler->take_ids(1) == 18);
}

TEST_CASE("Ms that are made at the same moment draw different random numbers") {
  auto& clock = thrum::sched::traits::virtual_now();
  auto* const before = clock.exchange([]() noexcept -> std::int64_t { return 1; });
  const std::uint64_t first = thrum::sched::runtime_scheduler::seed(0);
  const std::uint64_t second = thrum::sched::runtime_scheduler::seed(1);
  clock.store(before);
  CHECK(first != second);
}

TEST_CASE("work that is published wakes an idle P once, and none while an M searches") {
  support::bare_scheduler scheduler(1);
  REQUIRE(scheduler.open() == 0);
  const int before = scheduler.wakes;
  scheduler->wake_processor();
  CHECK(scheduler.wakes == before + 1);
  scheduler->wake_processor_after_rmw();
  CHECK(scheduler.wakes == before + 2);
  const auto searcher = scheduler.stray_m();
  scheduler->idle.begin_spinning(*searcher);
  scheduler->wake_processor();
  scheduler->wake_processor_after_rmw();
  CHECK(scheduler.wakes == before + 2);
  scheduler->idle.end_spinning(*searcher);
}

TEST_CASE("a timer wakes the thread in the poller if that sleeps past it, else an idle P") {
  support::bare_scheduler scheduler(1);
  REQUIRE(scheduler.open() == 0);
  const int before = scheduler.wakes;
  scheduler->poll.end_sleep(1);
  scheduler->wake_for_timer(100);  // nobody sleeps in the poller
  CHECK(scheduler.wakes == before + 1);
  REQUIRE(scheduler->poll.begin_sleep(1'000));
  scheduler->wake_for_timer(2'000);
  scheduler->wake_for_timer(100);
  CHECK(scheduler.wakes == before + 1);
}

TEST_CASE("an M that is given a P finds it when it wakes, and whether it is to search") {
  support::bare_scheduler scheduler(1);
  const auto m = scheduler.stray_m();
  processor p(0);
  scheduler->pass_p(p, *m, true);
  CHECK(m->next_p == &p);
  CHECK(m->spinning);
  CHECK(m->park.is_set());
  scheduler->pass_p(p, *m, false);
  CHECK_FALSE(m->spinning);
}

TEST_CASE("a scheduler has a spare thread when more than one M is idle") {
  support::bare_scheduler scheduler(1);
  const auto first = scheduler.stray_m();
  const auto second = scheduler.stray_m();
  const thrum::sched::scoped guard(scheduler->idle.lock());
  scheduler->idle.put_m_locked(*first);
  CHECK_FALSE(scheduler->has_spare());
  scheduler->idle.put_m_locked(*second);
  CHECK(scheduler->has_spare());
}

TEST_CASE("an M that is vacated is the next that is given a thread") {
  support::bare_scheduler scheduler(1);
  REQUIRE(scheduler.open() == 0);
  thrum::sched::machine* m;
  m = support::with_idle_lock(scheduler)->new_m_locked();
  scheduler->vacate(*m);
  CHECK(scheduler->ms.with_thread() == 0);
  const thrum::sched::scoped guard(scheduler->idle.lock());
  CHECK(scheduler->new_m_locked() == m);
}

TEST_CASE("a scheduler is quiet when each P idles, nothing is queued and each thread sleeps") {
  support::bare_scheduler scheduler(2);
  REQUIRE(scheduler.open() == 0);
  scheduler->poll.end_sleep(1);
  const auto is_quiet = [&] {
    const thrum::sched::scoped guard(scheduler->idle.lock());
    return scheduler->is_quiet_locked();
  };
  CHECK(is_quiet());

  const auto searcher = scheduler.stray_m();
  scheduler->idle.begin_spinning(*searcher);
  CHECK_FALSE(is_quiet());
  scheduler->idle.end_spinning(*searcher);

  thrum::sched::goroutine g;
  scheduler->global.push_back(g);
  CHECK_FALSE(is_quiet());
  REQUIRE(scheduler->global.pop() == &g);

  {
    const thrum::sched::scoped guard(scheduler->idle.lock());
    processor* const p = scheduler->idle.take_p_locked();
    CHECK_FALSE(scheduler->is_quiet_locked());
    scheduler->idle.put_p_locked(*p);
  }
  CHECK(is_quiet());
}

TEST_CASE("a thread sleeps in the idle list, in the poller, or with the goroutine locked to it") {
  support::bare_scheduler scheduler(1);
  REQUIRE(scheduler.open() == 0);
  scheduler->poll.end_sleep(1);
  const thrum::sched::scoped guard(scheduler->idle.lock());
  thrum::sched::machine* const m = scheduler->new_m_locked();
  CHECK_FALSE(scheduler->is_quiet_locked());
  scheduler->idle.put_m_locked(*m);
  CHECK(scheduler->is_quiet_locked());
  REQUIRE(scheduler->idle.take_m_locked() == m);
  REQUIRE(scheduler->poll.begin_sleep(1'000));
  CHECK(scheduler->is_quiet_locked());
  scheduler->poll.end_sleep(1);
  scheduler->locked_asleep = 1;
  CHECK(scheduler->is_quiet_locked());
}

TEST_CASE("there may be as many threads as the options say, or as the system gives if fewer") {
  support::bare_scheduler scheduler(1, {.max_threads = 10});
  CHECK(thrum::sched::most_threads(*scheduler) == 10);
  scheduler->ms.set_limit(7);
  CHECK(thrum::sched::most_threads(*scheduler) == 7);
  scheduler->ms.set_limit(12);
  CHECK(thrum::sched::most_threads(*scheduler) == 10);
  scheduler->ms.set_limit(thrum::sched::m_table::any_number);
  CHECK(thrum::sched::most_threads(*scheduler) == 10);
}

TEST_CASE("under a virtual clock no timer is due by the machine's clock") {
  thrum::sched::virtual_clock clock;
  support::bare_scheduler virtual_one(1, {.max_threads = 2}, &clock);
  support::bare_scheduler real_one(1, {.max_threads = 2});
  for (support::bare_scheduler* const each : {&virtual_one, &real_one}) {
    REQUIRE(each->open() == 0);
    thrum::sched::basic_timer<thrum::sched::traits> timer;
    processor& p = (*each)->ps[0];
    p.timers.add(timer, 5);
    CHECK((*each)->next_timer(p) ==
          (each == &real_one ? 5 : thrum::sched::timer_heap<thrum::sched::traits>::never));
    p.timers.detach(timer);
  }
}

TEST_CASE("schedulers are numbered as they are registered, and no number is given again") {
  const auto number = [](thrum::runtime& of) { return of.scheduler().registered.number(); };
  thrum::runtime first(support::with_procs(1));
  const std::uint64_t firsts = number(first);
  CHECK(firsts != 0);
  std::optional<thrum::runtime> second(std::in_place, support::with_procs(1));
  const std::uint64_t seconds = number(*second);
  CHECK(seconds > firsts);
  second.reset();
  thrum::runtime third(support::with_procs(1));
  CHECK(number(third) > seconds);
  CHECK(number(first) == firsts);
}

TEST_CASE("a figure is what was added to it less what was taken") {
  thrum::sched::figure<std::uint32_t> figure;
  CHECK(figure.get() == 0);
  figure.add();
  figure.add(41);
  CHECK(figure.get() == 42);
  figure.take();
  CHECK(figure.get() == 41);
  figure.take(41);
  CHECK(figure.get() == 0);
}

TEST_CASE("a counter counts an event once, whether or not it publishes it, and beyond 32 bits") {
  thrum::sched::counter counter;
  counter.add_release();
  CHECK(counter.get() == 1);
  counter.add();
  counter.add_release();
  CHECK(counter.get() == 3);
  counter.add(0xFFFF'FFFF - 3);
  counter.add_release();
  CHECK(counter.get() == std::uint64_t{1} << 32);
}
