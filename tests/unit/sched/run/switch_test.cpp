// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/switch.hpp>

#include <thrum/detail/sched/run/park.hpp>
#include <thrum/testing/bubble.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

namespace {

using thrum::sched::goroutine;
using thrum::sched::machine;
using thrum::sched::take_next;

/// What a goroutine sees to that has left its stack, and whether it has.
struct seen_at_commit {
  goroutine* left = nullptr;
  bool runs_still = true;
  bool is_on_its_stack = true;
  bool has_saved_stack = false;
  int times = 0;
};

bool is_on_stack(const goroutine& g, const void* address) {
  return address >= g.stack_low && address < static_cast<const void*>(&g);
}

bool look_at_commit(machine& m, goroutine& g, void* argument) noexcept {
  auto& seen = *static_cast<seen_at_commit*>(argument);
  const int here = 0;
  seen.runs_still = m.g == &g;
  seen.is_on_its_stack = is_on_stack(g, &here);
  seen.has_saved_stack = is_on_stack(g, g.sp);
  seen.left = &g;
  ++seen.times;
  return true;
}

bool refuse_at_commit(machine& m, goroutine& g, void* argument) noexcept {
  look_at_commit(m, g, argument);
  return false;
}

}  // namespace

IN_RUNTIME("what a goroutine leaves to be done is done when its stack is no longer in use",
           support::with_procs(1)) {
  seen_at_commit seen;
  auto waiter = thrum::spawn([&] {
    thrum::sched::section here;
    park(here, thrum::sched::wait_reason::sleep, &look_at_commit, &seen);
  });
  REQUIRE(support::eventually_yielding([&] { return seen.left != nullptr; }));
  CHECK_FALSE(seen.runs_still);
  CHECK(seen.has_saved_stack);
  if (!THRUM_ASAN) {  // whose stacks of locals are its own
    CHECK_FALSE(seen.is_on_its_stack);
  }
  {
    const thrum::sched::section here;
    thrum::sched::ready(*seen.left);
  }
  waiter.join();
  CHECK(seen.times == 1);
}

IN_RUNTIME("a goroutine whose wait is over before it has left goes on") {
  seen_at_commit seen;
  thrum::spawn([&] {
    thrum::sched::section here;
    park(here, thrum::sched::wait_reason::sleep, &refuse_at_commit, &seen);
  }).join();
  CHECK(seen.times == 1);
}

TEST_CASE("a goroutine that leaves lets g0 choose when something is asked of its processor") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  goroutine& next = scheduler.g();
  scheduler.set_runnext(0, next);
  m.p->attention |= thrum::sched::attention_preempt;
  CHECK(take_next(m) == nullptr);
  m.p->attention = 0;
  CHECK(take_next(m) == &next);
}

TEST_CASE("a processor with timers looks at the clock after so many switches") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  thrum::sched::basic_timer<thrum::sched::traits> timer;
  m.p->timers.add(timer, thrum::sched::traits::now() + 3'600'000'000'000);
  std::uint32_t switches = 0;
  do {
    scheduler.push(0, scheduler.g());
    REQUIRE(++switches <= thrum::sched::traits::timer_check_interval);
  } while (take_next(m) != nullptr);
  CHECK(switches == thrum::sched::traits::timer_check_interval);
  CHECK(take_next(m) != nullptr);
}

TEST_CASE(
    "a goroutine that leaves takes what is on its processor, and the global queue on its turn") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  begin_slice(*m.p);
  while (!global_turn(*m.p)) {
    begin_slice(*m.p);
  }
  goroutine& in_ring = scheduler.g();
  goroutine& first = scheduler.g();
  goroutine& second = scheduler.g();
  scheduler.push(0, in_ring);
  scheduler->global.push_back(first);
  scheduler->global.push_back(second);
  CHECK(take_next(m) == &first);
  CHECK(take_next(m) == &in_ring);
  CHECK(take_next(m) == &second);
  CHECK(take_next(m) == nullptr);
}

IN_RUNTIME("one of 256 goroutines that are queued behind others is timed until it leaves",
           support::with_procs(1)) {
  const thrum::latencies before = thrum::stats().latencies;
  for (int round = 0; round != 8; ++round) {
    thrum::wait_group all;
    for (int i = 0; i != 200; ++i) {
      all.go([] {});
    }
    all.wait();
  }
  const thrum::latencies after = thrum::stats().latencies;
  CHECK(after.ready.total() - before.ready.total() >= 4);
  CHECK(after.slice.total() - before.slice.total() >= 4);
}

IN_RUNTIME("a goroutine that the poller finds is timed, now and then, until it runs") {
  const std::uint64_t before = thrum::stats().latencies.poll.total();
  thrum::io::pipe there;
  thrum::io::pipe back;
  auto answers = thrum::spawn([&] {
    for (char c = 0; there.reader().read(std::span(&c, 1)) != 0;) {
      back.writer().write(std::string_view(&c, 1));
    }
    back.writer().close();
  });
  char c = 'x';
  for (int i = 0; i != 64; ++i) {
    there.writer().write(std::string_view(&c, 1));
    REQUIRE(back.reader().read(std::span(&c, 1)) == 1);
  }
  there.writer().close();
  CHECK(back.reader().read(std::span(&c, 1)) == 0);
  answers.join();
  CHECK(thrum::stats().latencies.poll.total() != before);
}

IN_RUNTIME("a slice that a preemption ends is counted", support::with_procs(1)) {
  const thrum::stats_snapshot before = thrum::stats();
  std::atomic<bool> others_have_run{false};
  thrum::go([&] { others_have_run = true; });
  while (!others_have_run) {
    thrum::this_goroutine::preemption_point();
  }
  const thrum::stats_snapshot after = thrum::stats();
  CHECK(after.preemptions > before.preemptions);
  CHECK(after.latencies.slice.total() > before.latencies.slice.total());
}

TEST_CASE("a goroutine that a thread outside of the runtime makes ready is timed, now and then") {
  thrum::runtime runtime(support::with_procs(1));
  for (int i = 0; i != 32; ++i) {
    runtime.spawn([] {}).join();
  }
  CHECK(runtime.stats().latencies.ready.total() != 0);
}

TEST_CASE("no timer is late by a virtual clock") {
  thrum::testing::bubble([] {
    for (int i = 0; i != 3; ++i) {
      thrum::sleep_for(std::chrono::seconds(1));
    }
    const thrum::latency_histogram late = thrum::stats().latencies.timer;
    CHECK(late.total() >= 3);
    CHECK(late.counts[0] == late.total());
  });
}

TEST_CASE("a quantile of a histogram is the power of two above it") {
  thrum::latency_histogram seen;
  CHECK(seen.quantile(0.5).count() == 0);
  seen.counts[3] = 98;
  seen.counts[10] = 2;
  CHECK(seen.quantile(0.5).count() == 8);
  CHECK(seen.quantile(0.99).count() == 1024);
  CHECK(seen.quantile(1).count() == 1024);
}
