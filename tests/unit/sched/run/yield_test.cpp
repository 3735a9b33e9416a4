// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/yield.hpp>

#include <thrum/detail/sched/queue/yield_queue.hpp>
#include <thrum/detail/sched/run/steal.hpp>
#include <thrum/detail/sched/run/take.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace {

using thrum::sched::goroutine;
using thrum::sched::machine;
using thrum::sched::yields_between_looks;
using turns_of = std::map<const goroutine*, std::uint64_t>;

void add_yielded(support::lone_scheduler& scheduler, unsigned p, int n) {
  for (int i = 0; i != n; ++i) {
    auto& yielded = scheduler.p(p).yielded;
    const thrum::sched::scoped guard(yielded.lock());
    yielded.push_back_locked(scheduler.g());
  }
}

/// What a yield does, but for the switch: the goroutine that runs on m goes behind the others.
void yield_once(machine& m, goroutine*& running, turns_of& turns) {
  begin_slice(*m.p);
  if (global_turn(*m.p)) {
    level_in_turn(m);
  }
  auto& yielded = m.p->yielded;
  const thrum::sched::scoped guard(yielded.lock());
  if (goroutine* const next = yielded.exchange_locked(*running)) {
    running = next;
  }
  ++turns[running];
}

/// A goroutine yields on one of two Ps with so many others, one on the other with `there`. Returns how many
/// turns each got while each P had so many.
turns_of share(int here, int there, std::uint32_t turns_of_a_p, std::uint32_t warm_up = 0) {
  support::lone_scheduler scheduler(2);
  machine* const ms[] = {&scheduler.holder_of(0), &scheduler.holder_of(1)};
  goroutine* running[] = {&scheduler.g(), &scheduler.g()};
  add_yielded(scheduler, 0, here);
  add_yielded(scheduler, 1, there);
  turns_of turns;
  for (std::uint32_t i = 0; i != turns_of_a_p + warm_up; ++i) {
    if (i == warm_up) {
      turns.clear();
    }
    yield_once(*ms[0], running[0], turns);
    yield_once(*ms[1], running[1], turns);
  }
  return turns;
}

std::uint64_t most(const turns_of& turns) {
  return std::max_element(turns.begin(), turns.end(),
                          [](auto& a, auto& b) { return a.second < b.second; })
      ->second;
}
std::uint64_t least(const turns_of& turns) {
  return std::min_element(turns.begin(), turns.end(),
                          [](auto& a, auto& b) { return a.second < b.second; })
      ->second;
}

}  // namespace

TEST_CASE("a goroutine that yields beside one other gets as many turns as one beside a thousand") {
  // Until the first looks are over the few have a processor for themselves.
  constexpr std::uint32_t to_level = 10 * yields_between_looks;
  const turns_of turns = share(1, 1000, 200'000, to_level);
  CHECK(turns.size() == 1003);
  CHECK(most(turns) < 2 * least(turns));
  // And that lasts no longer than it takes to look ten times.
  CHECK(most(share(1, 1000, to_level)) <= to_level);
}

TEST_CASE("three goroutines that yield on two processors share them equally") {
  const turns_of turns = share(0, 1, 100 * yields_between_looks);
  CHECK(turns.size() == 3);
  CHECK(4 * most(turns) < 5 * least(turns));  // one of them would have twice as many
}

TEST_CASE("processors on which as many goroutines yield take none from each other") {
  support::lone_scheduler scheduler(2);
  machine& m = scheduler.holder_of(0);
  scheduler.holder_of(1);
  add_yielded(scheduler, 0, 7);
  add_yielded(scheduler, 1, 7);
  level_yielded(m);
  level_yielded(m);
  CHECK(scheduler.p(0).yielded.size() == 7);
  CHECK(m.p->counts.steals.get() == 0);
}

TEST_CASE("a thief that finds an empty ring takes the older half of the goroutines that yielded") {
  support::lone_scheduler scheduler(2);
  machine& thief = scheduler.holder_of(0);
  scheduler.holder_of(1);
  add_yielded(scheduler, 1, 5);
  CHECK(steal_work(thief).g != nullptr);
  CHECK(scheduler.p(0).yielded.size() == 2);
  CHECK(scheduler.p(1).yielded.size() == 2);
  CHECK(thief.p->counts.steals.get() == 3);
}

TEST_CASE("a thief walks past no more yielded goroutines than half a ring holds") {
  support::lone_scheduler scheduler(2);
  machine& thief = scheduler.holder_of(0);
  scheduler.holder_of(1);
  constexpr auto at_a_time = static_cast<int>(decltype(thief.p->yielded)::most);
  add_yielded(scheduler, 1, 3 * at_a_time);
  CHECK(steal_work(thief).g != nullptr);
  CHECK(scheduler.p(1).yielded.size() == 2 * at_a_time);
}

TEST_CASE("behind the ring, goroutines that yielded and the global queue have every other turn") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  add_yielded(scheduler, 0, 3);
  for (int i = 0; i != 3; ++i) {
    scheduler->global.push_back(scheduler.g());
  }
  for (std::size_t left = 3; left-- != 0;) {
    CHECK(pop_behind_ring(m) != nullptr);
    CHECK(pop_behind_ring(m) != nullptr);
    CHECK(m.p->yielded.size() == left);
    CHECK(scheduler->global.size() == left);
  }
  CHECK(pop_behind_ring(m) == nullptr);
}

TEST_CASE("an exchange takes the oldest goroutine that yielded and leaves as many as before") {
  support::lone_scheduler scheduler(1);
  auto& yielded = scheduler.p(0).yielded;
  goroutine& first = scheduler.g();
  goroutine& second = scheduler.g();
  {
    const thrum::sched::scoped guard(yielded.lock());
    CHECK(yielded.exchange_locked(first) == nullptr);
    CHECK(yielded.empty());
    yielded.push_back_locked(first);
    CHECK(yielded.exchange_locked(second) == &first);
  }
  CHECK(yielded.size() == 1);
  CHECK(yielded.drain().front() == &second);
  CHECK(yielded.empty());
  CHECK(yielded.pop() == nullptr);
}
