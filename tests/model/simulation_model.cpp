// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The simulated machine, and the scheduler on it with more processors than any machine of a test has.

#include <cstdint>

namespace {
std::uint32_t searchers = 2;
}

#define SIMULATED_SEARCHERS searchers
#include "simulation/small_workloads.hpp"
//
#include "support/catch.hpp"

#include <vector>

namespace {

using namespace simulation;

outcome half_busy(unsigned procs) { return requests(procs, {}, 0.5, 100'000, 10'000).run(); }

}  // namespace

TEST_CASE("simulation: a cache line moves when another core writes it, and only then") {
  for (const bool shared : {false, true}) {
    machine on({});
    alignas(64) simulation::atomic<int> word{0};
    alignas(64) simulation::atomic<int> other{0};
    double ends[2] = {};
    const auto writer = [&](simulation::atomic<int>& at, int number) {
      return [&, number] {
        for (int i = 0; i != 100; ++i) {
          at.fetch_add(1, std::memory_order_relaxed);
          machine::active().compute(1'000);
        }
        ends[number] = machine::active().now();
      };
    };
    on.start(writer(word, 0), 0);
    on.start(writer(shared ? word : other, 1), 500);
    on.run();
    const double alone = 100 * (1'000 + on.cost.locked + on.cost.hit);
    const double moves = shared ? 99 * on.cost.transfer : 0;
    CHECK(ends[0] == Approx(alone + moves).epsilon(0.01));
    CHECK(ends[1] == Approx(500 + alone + moves).epsilon(0.01));
    CHECK(word.load(std::memory_order_relaxed) == (shared ? 200 : 100));
  }
}

TEST_CASE(
    "simulation: a line takes longer from another package than from a sibling or a neighbour") {
  costs apart;
  apart.siblings = 2;
  apart.package = 4;
  apart.transfer = 100;
  machine on(apart);
  alignas(64) simulation::atomic<int> word{0};
  double took[6] = {};
  // The first thread writes; after a while another one reads. Thread 1 is its sibling, 2 a neighbour, 4 far.
  for (unsigned i = 0; i != 6; ++i) {
    on.start(
        [&, i] {
          machine& here = machine::active();
          if (i == 0) {
            for (int round = 0; round != 3; ++round) {
              word.store(1, std::memory_order_relaxed);
              here.nap(10'000);
            }
          } else if (i != 3 && i != 5) {
            here.nap(i == 1 ? 1'000 : i == 2 ? 12'000 : 22'000);
            const double begins = here.now();
            word.load(std::memory_order_relaxed);
            took[i] = here.now() - begins;
          }
        },
        0);
  }
  on.run();
  CHECK(took[1] == apart.sibling);
  CHECK(took[2] == apart.transfer);
  CHECK(took[4] == apart.far);
}

TEST_CASE(
    "simulation: a woken thread runs after the latency, and a sleep with a limit ends by itself") {
  machine on({});
  note bell;
  double woken = 0;
  double rested = 0;
  on.start(
      [&] {
        bell.sleep();
        woken = machine::active().now();
        machine::active().sleep_for(7'000);
        rested = machine::active().now();
      },
      0);
  on.start([&] { bell.wake(); }, 10'000);
  on.run();
  CHECK(woken == Approx(10'000 + on.cost.wake_latency).epsilon(0.01));
  CHECK(rested == Approx(woken + 7'000).epsilon(0.01));
  CHECK(on.wakes == 1);
}

TEST_CASE("simulation: with 1 to 256 processors each goroutine runs once, whatever the work is") {
  for (const unsigned procs : {1U, 2U, 7U, 64U, 256U}) {
    CAPTURE(procs);
    const auto is_complete = [](const outcome& all) { return all.ran == all.expected; };
    CHECK(is_complete(burst(procs, {}, 50, 1'000).run()));
    CHECK(is_complete(tree(procs, {}, 9, 1'000).run()));
    CHECK(is_complete(requests(procs, {}, 0.5, 100'000, 2'000).run()));
    CHECK(is_complete(pairs(procs, {}, procs, 20, 200).run()));
    CHECK(is_complete(channel(procs, {}, 4, 2'000, 5, 5).run()));
    CHECK(is_complete(yielders(procs, {}, 300, 4).run()));
    CHECK(is_complete(spawns(procs, {}, 2, 500).run()));
    CHECK(is_complete(joined(procs, {}, 10, joined::shape::fib).run()));
    CHECK(is_complete(joined(procs, {}, 7, joined::shape::tree).run()));
  }
}

TEST_CASE("simulation: work that lasts comes to all of 64 processors") {
  const outcome all = burst(64, {}, 40, 1'000'000).run();
  CHECK(all.used(64) > 0.9);
}

// What traits::searchers_at_a_time is for.
TEST_CASE(
    "simulation: with half of 64 processors busy, two searchers serve the last goroutine sooner "
    "than one") {
  searchers = 1;
  const outcome one = half_busy(64);
  searchers = 2;
  const outcome two = half_busy(64);
  CHECK(two.late < one.late * 0.6);
  CHECK(two.awake < one.awake * 1.1);
  const outcome again = half_busy(64);
  CHECK(again.late == two.late);  // the same to the last access
  CHECK(again.elapsed == two.elapsed);
}

// What traits::worth_a_move_ns is for.
TEST_CASE("simulation: a pair that talks stays on one processor, and one that computes has two") {
  // A send and a receive of 10 ns each: full and empty take turns each microsecond.
  const outcome talks = channel(2, {}, 1, 400'000, 5, 5).run();
  CHECK(talks.steals <= 4);
  const outcome computes = channel(2, {}, 1, 1'000, 20'000, 20'000).run();
  CHECK(computes.used(2) > 0.95);
}
