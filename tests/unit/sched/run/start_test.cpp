// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/execute.hpp>
#include <thrum/detail/sched/run/start.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

namespace {

using thrum::sched::goroutine;
using thrum::sched::next_id;
using thrum::sched::take_g;

/// Gives so many dead Gs to the scheduler's pool.
void fill_pool(support::lone_scheduler& scheduler, std::uint32_t n) {
  thrum::base::intrusive_queue<goroutine> dead;
  for (std::uint32_t i = 0; i != n; ++i) {
    dead.push_back(&scheduler.g());
  }
  scheduler->pool->put(scheduler->config().stack_class, std::move(dead));
}

}  // namespace

TEST_CASE("a new goroutine is the one that ended last on the same processor") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  goroutine& cold = scheduler.g();
  goroutine& warm = scheduler.g();
  recycle(m, cold);
  recycle(m, warm);
  CHECK(take_g(*scheduler, &m, scheduler->config().stack_class) == &warm);
  CHECK(take_g(*scheduler, &m, scheduler->config().stack_class) == &cold);
  CHECK(m.p->free_gs.size() == 0);
}

TEST_CASE("a processor without dead goroutines takes a chunk of used ones at a time") {
  constexpr std::uint32_t half = thrum::sched::traits::free_goroutines_per_p / 2;
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  fill_pool(scheduler, half);
  fill_pool(scheduler, half);
  REQUIRE(take_g(*scheduler, &m, scheduler->config().stack_class) != nullptr);
  CHECK(m.p->free_gs.size() == half - 1);
}

TEST_CASE("a goroutine with a stack of another size is not of the processor's list") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  recycle(m, scheduler.g());
  const auto larger = static_cast<std::uint8_t>(scheduler->config().stack_class + 1);
  const goroutine* const g = take_g(*scheduler, &m, larger);
  REQUIRE(g != nullptr);
  CHECK(g->size_class == larger);
  CHECK(m.p->free_gs.size() == 1);
}

TEST_CASE("goroutines of several processors and of none have ids of their own") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine* const from[] = {&scheduler.holder_of(0), &scheduler.holder_of(1), nullptr};
  constexpr int rounds = 2 * static_cast<int>(thrum::sched::traits::id_batch) + 1;
  std::set<thrum::goroutine_id> ids;
  for (int i = 0; i != rounds; ++i) {
    for (thrum::sched::machine* const m : from) {
      ids.insert(next_id(*scheduler, m));
    }
  }
  CHECK(ids.size() == 3 * rounds);
  CHECK(ids.count(0) == 0);
}

TEST_CASE("a callable lies on the goroutine's stack, below it and as it is to be aligned") {
  support::lone_scheduler scheduler(1);
  goroutine& g = scheduler.g();
  for (const std::size_t alignment : {1U, 64U, 1024U}) {
    constexpr std::size_t bytes = 100;
    const auto at = reinterpret_cast<std::uintptr_t>(reserve_task(g, bytes, alignment));
    CHECK(at % alignment == 0);
    CHECK(at % thrum::arch::stack_alignment == 0);
    CHECK(at + bytes <= reinterpret_cast<std::uintptr_t>(&g));
    CHECK(at >= reinterpret_cast<std::uintptr_t>(g.stack_low));
    CHECK(at == reinterpret_cast<std::uintptr_t>(g.task));
    thrum::base::context_destroy(g.context);
  }
}

TEST_CASE(
    "a goroutine that a goroutine starts runs next there, with nothing left of its last life") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  goroutine& g = scheduler.g();
  g.exiting = true;
  g.moved_much = true;
  g.uncancellable = 3;
  g.flags = thrum::sched::g_started | thrum::sched::g_bound;
  reserve_task(g, 8, 8);
  launch(*scheduler, &m, g);
  CHECK(m.p->queue.take_runnext() == &g);
  CHECK_FALSE(g.exiting);
  CHECK_FALSE(g.moved_much);
  CHECK(g.uncancellable == 0);
  CHECK(g.flags == 0);
  CHECK(scheduler->goroutine_count() == 1);
  untake_g(*scheduler, g);
}

TEST_CASE("a goroutine that a foreign thread starts is counted and stands in the global queue") {
  support::lone_scheduler scheduler(1);
  goroutine& g = scheduler.g();
  reserve_task(g, 8, 8);
  launch(*scheduler, nullptr, g);
  CHECK(scheduler->global.pop() == &g);
  CHECK(scheduler->goroutine_count() == 1);
  untake_g(*scheduler, g);
}

TEST_CASE("a goroutine that was not started after all is taken again") {
  support::lone_scheduler scheduler(1);
  goroutine& g = scheduler.g();
  reserve_task(g, 8, 8);
  untake_g(*scheduler, g);
  CHECK(take_g(*scheduler, nullptr, scheduler->config().stack_class) == &g);
}

TEST_CASE("only a thread that holds a processor of that scheduler starts goroutines on it") {
  support::lone_scheduler others(1);
  support::lone_scheduler scheduler(1);
  CHECK(m_of(*scheduler) == nullptr);
  thrum::sched::machine& m = scheduler.holder_of(0);
  const support::on_m here(m);
  CHECK(m_of(*scheduler) == &m);
  CHECK(m_of(*others) == nullptr);
  scheduler->release_p(m);
  CHECK(m_of(*scheduler) == nullptr);
}

TEST_CASE("a goroutine begins with an errno of 0") {
  thrum::runtime runtime(support::with_procs(1));
  int first = -1;
  runtime.block_on([&] {
    errno = EDOM;
    thrum::spawn([&] { first = errno; }).join();
  });
  CHECK(first == 0);
}

TEST_CASE("a goroutine that an idle thread begins is the one that runs there, and is counted") {
  thrum::runtime runtime(support::with_procs(1));
  const auto switches = [&] { return runtime.scheduler().ps[0].counts.switches.get(); };
  const auto before = switches();
  struct {
    bool runs_here = false;
    bool is_running = false;
    bool has_started = false;
    decltype(switches()) counted{};
  } seen;
  // Nothing else runs, so no other goroutine hands it the processor.
  runtime.block_on([&] {
    const thrum::sched::section here;
    const thrum::sched::goroutine& g = *here.g();
    seen.runs_here = g.scheduler == &runtime.scheduler();
    seen.is_running = g.status == thrum::sched::g_status::running;
    seen.has_started = (g.flags & thrum::sched::g_started) != 0;
    seen.counted = switches();
  });
  CHECK(seen.runs_here);
  CHECK(seen.is_running);
  CHECK(seen.has_started);
  CHECK(seen.counted > before);
}
