// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/end.hpp>

#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/start.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

#include <exception>

namespace {

using thrum::sched::goroutine;
using thrum::sched::join_state;
using thrum::sched::wait_point;
using thrum::sched::wake_cause;

/// A goroutine that has run and left its stack.
goroutine& ended(support::lone_scheduler& scheduler, join_state join) {
  goroutine& g = scheduler.g();
  thrum::sched::reserve_task(g, 8, 8);
  g.join = join;
  return g;
}

}  // namespace

TEST_CASE("a processor keeps two chunks of dead goroutines at most, and gives the older one away") {
  constexpr std::uint32_t most = thrum::sched::traits::free_goroutines_per_p;
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  goroutine& first = scheduler.g();
  recycle(m, first);
  for (std::uint32_t i = 1; i != most - 1; ++i) {
    recycle(m, scheduler.g());
  }
  CHECK(m.p->free_gs.size() == most - 1);
  CHECK(scheduler->pool->take_chunk(scheduler->config().stack_class).empty());
  recycle(m, scheduler.g());
  CHECK(m.p->free_gs.size() == most / 2);
  auto older = scheduler->pool->take_chunk(scheduler->config().stack_class);
  CHECK(older.size() == most / 2);
  CHECK(older.take_first([&](const goroutine& g) { return &g == &first; }) != nullptr);
}

TEST_CASE("a dead goroutine with a stack of another size goes back to the pool at once") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  const auto larger = static_cast<std::uint8_t>(scheduler->config().stack_class + 1);
  goroutine& g = *scheduler->pool->take(larger);
  recycle(m, g);
  CHECK(m.p->free_gs.size() == 0);
  CHECK(scheduler->pool->take(larger) == &g);
}

TEST_CASE("a goroutine is counted at its end, and used again once its handle has given it back") {
  const auto join = GENERATE(join_state::none, join_state::running, join_state::detached);
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  goroutine& g = ended(scheduler, join);
  m.p->counts.created.add();
  const bool lets_go_meanwhile = join == join_state::detached;  // it runs once more
  if (join == join_state::none) {
    REQUIRE(commit_end(m, g, nullptr));
    CHECK(g.status == thrum::sched::g_status::dead);
    CHECK(m.p->free_gs.front() == &g);
  } else {
    CHECK(commit_end_joined(m, g, nullptr) == !lets_go_meanwhile);
    CHECK(g.join == (lets_go_meanwhile ? join : join_state::done));
    CHECK_FALSE(g.join_lock.is_locked());
    CHECK(m.p->free_gs.size() == 0);
  }
  CHECK(scheduler->goroutine_count() == (lets_go_meanwhile ? 1 : 0));
  if (lets_go_meanwhile) {
    g.join = join_state::none;
    untake_g(*scheduler, g);
  } else if (join == join_state::running) {
    scheduler->pool->put_from_handle(g);
  }
}

TEST_CASE(
    "a waiter for the end of a goroutine is woken, whether it came before or during the end") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  const support::on_m here(m);
  for (const bool early : {true, false}) {
    goroutine& waiter = scheduler.g();
    wait_point point;
    point.g = &waiter;
    goroutine& g = ended(scheduler, join_state::running);
    g.joiner = &point;
    REQUIRE(commit_end_joined(m, g, early ? take_joiner_locked(g) : nullptr));
    CHECK(g.joiner == nullptr);
    CHECK(point.cause == wake_cause::notified);
    CHECK(m.p->queue.take_runnext() == &waiter);
    scheduler->pool->put_from_handle(g);
  }
}

TEST_CASE("the last goroutine that a stop waits for says that there are no more") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  m.p->counts.created.add(2);
  scheduler->ending.begin();
  count_end(m);
  int looks = 0;
  count_end(m);
  // Sleeps between two looks until it is told.
  scheduler->ending.wait_until([&] { return ++looks == 2; });
  CHECK(looks == 2);
}

TEST_CASE("a goroutine that is bound to a thread is so until it is unbound") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  goroutine& g = scheduler.g();
  g.flags = thrum::sched::g_started;
  bind(m, g);
  m.locked_g = &g;
  CHECK(g.bound == &m);
  CHECK(g.flags == (thrum::sched::g_started | thrum::sched::g_bound));
  unbind(m, g);
  CHECK(g.bound == nullptr);
  CHECK(m.locked_g == nullptr);
  CHECK(g.flags == thrum::sched::g_started);
}

TEST_CASE("what a goroutine returns is destroyed if its handle has let go before") {
  const auto returned = std::make_shared<int>(1);
  support::with_runtime([&] {
    thrum::chan<void> gate(0);
    auto handle = thrum::spawn([gate, mine = returned]() mutable {
      gate.recv();
      return std::move(mine);
    });
    handle.detach();
    gate.close();
  });
  CHECK(returned.use_count() == 1);
}

IN_RUNTIME("a goroutine that catches goroutine_exit meets it again at its next wait") {
  std::atomic<int> told{0};
  thrum::wait_group group;
  group.go([&] {
    try {
      thrum::this_goroutine::exit();
    } catch (...) {
      ++told;
    }
    try {
      thrum::sleep_for(1h);
    } catch (const thrum::goroutine_exit&) {
      ++told;
      throw;
    }
  });
  group.wait();
  CHECK(told == 2);
}

IN_RUNTIME("only a wait that was cancelled ends the goroutine") {
  bool went_on = false;
  thrum::spawn([&] {
    using thrum::sched::wake_cause;
    thrum::sched::exit_if_cancelled(wake_cause::notified);
    thrum::sched::exit_if_cancelled(wake_cause::timed_out);
    went_on = true;
  }).join();
  CHECK(went_on);
  std::atomic<bool> ended{false};
  std::atomic<bool> went_on_after{false};
  thrum::wait_group group;
  group.go([&] {
    try {
      thrum::sched::exit_if_cancelled(thrum::sched::wake_cause::cancelled);
      went_on_after = true;
    } catch (const thrum::goroutine_exit&) {
      ended = true;
      throw;
    }
  });
  group.wait();
  CHECK(ended);
  CHECK_FALSE(went_on_after);
}

TEST_CASE("goroutine_exit is no std::exception") {
  CHECK_FALSE(std::is_base_of_v<std::exception, thrum::goroutine_exit>);
}
