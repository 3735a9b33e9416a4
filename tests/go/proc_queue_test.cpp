// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of its local run queue, re-created from their descriptions.

#include <thrum/detail/sched/queue/run_queue.hpp>

#include "support/catch.hpp"
#include "support/scale.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct goroutine {
  goroutine* queue_next = nullptr;
  int seen = 0;
};

struct traits {
  static constexpr std::uint32_t run_queue_capacity = 256;
  template <class U>
  using atomic = std::atomic<U>;
};

using queue = thrum::sched::run_queue<goroutine, traits>;

void put(queue& q, goroutine& g, bool next) {
  goroutine* to_ring = &g;
  if (next) {
    to_ring = q.exchange_runnext(&g);
  }
  if (to_ring != nullptr && !q.push(to_ring).empty()) {
    FAIL("the ring overflowed");
  }
}

goroutine* get(queue& q) {
  if (goroutine* g = q.take_runnext()) {
    return g;
  }
  return q.pop();
}

}  // namespace

TEST_CASE("SchedLocalQueueSteal: a steal halves the queue and every G is in one place only") {
  queue victim;
  queue thief;
  std::vector<goroutine> gs(traits::run_queue_capacity);
  for (unsigned i = 0; i != gs.size(); ++i) {
    for (unsigned j = 0; j != i; ++j) {
      gs[j].seen = 0;
      put(victim, gs[j], false);
    }
    unsigned stolen = 0;
    if (goroutine* g = victim.steal_half_into(thief, [] { return true; })) {
      ++stolen;
      ++g->seen;
    }
    while (goroutine* g = get(thief)) {
      ++stolen;
      ++g->seen;
    }
    while (goroutine* g = get(victim)) {
      ++g->seen;
    }
    const auto end = gs.begin() + static_cast<std::ptrdiff_t>(i);
    REQUIRE(std::all_of(gs.begin(), end, [](const goroutine& g) { return g.seen == 1; }));
    REQUIRE((stolen == i / 2 || stolen == i / 2 + 1));
  }
}

TEST_CASE("SchedLocalQueueEmpty: a queue that always holds a G never says that it is empty") {
  const bool first_next = GENERATE(false, true);
  const bool second_next = GENERATE(false, true);
  CAPTURE(first_next, second_next);

  const int rounds = support::scaled(5'000, 500);
  queue q;
  goroutine first;
  goroutine second;
  std::atomic<int> started{0};  // both sides count themselves in, and run when both are there
  std::atomic<int> looked{0};
  std::atomic<int> wrong{0};
  const auto meet = [](std::atomic<int>& counter, int until) {
    for (unsigned spins = 0; counter.load() < until; ++spins) {
      if (spins % 256 == 255) {
        std::this_thread::yield();
      }
    }
  };

  std::thread observer([&] {
    for (int round = 0; round != rounds; ++round) {
      started.fetch_add(1);
      meet(started, 2 * (round + 1));
      if (q.empty()) {
        wrong.fetch_add(1);
      }
      looked.fetch_add(1);
    }
  });
  for (int round = 0; round != rounds; ++round) {
    put(q, first, first_next);
    started.fetch_add(1);
    meet(started, 2 * (round + 1));
    put(q, second, second_next);
    get(q);
    meet(looked, round + 1);
    get(q);
  }
  observer.join();
  CHECK(wrong == 0);
}
