// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/queue/timer_heap.hpp>

#include <thrum/detail/base/random.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "support/catch.hpp"

namespace {

using heap = thrum::sched::timer_heap<thrum::sched::traits>;
using basic_timer = thrum::sched::basic_timer<thrum::sched::traits>;

struct timer : basic_timer {
  std::int64_t due = 0;
  std::atomic<int> fired{0};
  bool was_first = false;
  std::vector<timer*>* order = nullptr;

  timer() {
    fire = [](basic_timer& t, bool first) noexcept {
      auto& self = static_cast<timer&>(t);
      self.was_first = first;
      ++self.fired;
      if (self.order != nullptr) {
        self.order->push_back(&self);
      }
    };
  }
};

}  // namespace

TEST_CASE("timers fire in the order of their due times") {
  heap timers;
  thrum::base::random random(42);
  std::vector<std::unique_ptr<timer>> all;
  std::vector<timer*> order;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(std::make_unique<timer>());
    all.back()->order = &order;
    all.back()->due = 1 + random.below(500);
    timers.add(*all.back(), all.back()->due);
  }
  for (std::int64_t now = 0; now <= 500; now += 7) {
    timers.run_due(now);
    REQUIRE(std::all_of(order.begin(), order.end(), [&](timer* t) { return t->due <= now; }));
  }
  timers.run_due(500);
  REQUIRE(order.size() == all.size());
  REQUIRE(std::is_sorted(order.begin(), order.end(),
                         [](timer* a, timer* b) { return a->due < b->due; }));
  REQUIRE(timers.size() == 0);
  REQUIRE(timers.earliest() == heap::never);
}

TEST_CASE("earliest is the due time of the first timer after every change") {
  heap timers;
  thrum::base::random random(7);
  std::vector<std::unique_ptr<timer>> armed;
  for (int step = 0; step < 2000; ++step) {
    if (armed.empty() || random.below(3) != 0) {
      armed.push_back(std::make_unique<timer>());
      armed.back()->due = 1 + random.below(1'000'000);
      const bool first = std::all_of(armed.begin(), armed.end() - 1,
                                     [&](const auto& t) { return t->due > armed.back()->due; });
      const auto added = timers.add(*armed.back(), armed.back()->due);
      if (first) {
        REQUIRE(added == heap::added::earliest);
      }
    } else {
      const std::size_t i = random.below(static_cast<std::uint32_t>(armed.size()));
      REQUIRE(heap::detach(*armed[i]));
      armed.erase(armed.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const auto least = std::min_element(armed.begin(), armed.end(),
                                        [](auto& a, auto& b) { return a->due < b->due; });
    REQUIRE(timers.earliest() == (armed.empty() ? heap::never : (*least)->due));
    REQUIRE(timers.size() == armed.size());
  }
  for (auto& t : armed) {
    heap::detach(*t);
  }
}

TEST_CASE("a stopped timer leaves its entry, which a new time revives and moves") {
  constexpr struct {
    std::int64_t first;  // of another timer; 0: there is none
    std::int64_t before;
    std::int64_t after;
    heap::added added;
    std::int64_t earliest;
  } rows[] = {{0, 10, 20, heap::added::later, 20},
              {50, 100, 10, heap::added::earliest, 10},
              {10, 100, 20, heap::added::later, 10}};
  for (const auto& row : rows) {
    heap timers;
    timer first;
    timer t;
    const std::size_t others = row.first != 0 ? 1 : 0;
    if (others != 0) {
      timers.add(first, row.first);
    }
    timers.add(t, row.before);
    REQUIRE(heap::remove(t));
    CHECK_FALSE(heap::remove(t));
    CHECK(timers.size() == 1 + others);
    CHECK(timers.armed() == others);
    CHECK(timers.add(t, row.after) == row.added);
    CHECK(timers.size() == 1 + others);
    CHECK(timers.armed() == 1 + others);
    if (others == 0) {
      CHECK(timers.run_due(row.after - 5) == 0);
    }
    CHECK(timers.earliest() == row.earliest);
    const bool both = others != 0 && row.first <= row.after;
    CHECK(timers.run_due(row.after) == (both ? 2U : 1U));
    CHECK(t.fired == 1);
    CHECK(first.fired == (both ? 1 : 0));
    heap::detach(first);
  }
}

TEST_CASE("a timer is revived in the heap that has its entry, and add says so") {
  heap left_in;
  heap other;
  timer t;
  left_in.add(t, 100);
  REQUIRE(heap::remove(t));
  REQUIRE(other.add(t, 20) == heap::added::elsewhere);
  REQUIRE(other.size() == 0);
  REQUIRE(left_in.earliest() == 20);
  REQUIRE(heap::remove(t));
  other.add(t, 200);
  REQUIRE(other.size() == 0);
  REQUIRE(left_in.run_due(200) == 1);
}

TEST_CASE("a timer that stays stopped does not fire: its entry goes when its time comes") {
  heap timers;
  timer t;
  timers.add(t, 10);
  REQUIRE(heap::remove(t));
  REQUIRE(timers.run_due(10) == 0);
  REQUIRE(timers.size() == 0);
  REQUIRE(t.fired == 0);
  REQUIRE(timers.add(t, 30) == heap::added::earliest);
  REQUIRE(timers.run_due(30) == 1);
}

TEST_CASE("a timer that is detached has no entry, armed, stopped or idle") {
  heap timers;
  timer t;
  REQUIRE_FALSE(heap::detach(t));
  timers.add(t, 10);
  REQUIRE(heap::detach(t));
  REQUIRE(timers.size() == 0);
  timers.add(t, 10);
  REQUIRE(heap::remove(t));
  REQUIRE_FALSE(heap::detach(t));
  REQUIRE(timers.size() == 0);
  REQUIRE(timers.earliest() == heap::never);
}

TEST_CASE("the entry that fills the place of a removed one goes up or down to its place") {
  // None is due before its parent, so they stand in the order of the array: 1 to 4 are below 0, 5 to 8 below 1, and so on.
  const struct {
    std::vector<std::int64_t> due;
    std::size_t removed;
    std::size_t fire_first;
    std::int64_t until;
    std::int64_t next;
  } rows[] = {
      // The last one is due before its new parent.
      {{1, 100, 10, 10, 10, 110, 110, 110, 110, 110, 110, 110, 110, 110, 110, 110, 20},
       5,
       5,
       20,
       100},
      {{1, 10, 90, 90, 90, 11, 12, 13, 14, 100}, 1, 5, 14, 90},  // after a child
  };
  for (const auto& row : rows) {
    heap timers;
    std::vector<timer> all(row.due.size());
    for (std::size_t i = 0; i != all.size(); ++i) {
      timers.add(all[i], row.due[i]);
    }
    REQUIRE(heap::detach(all[row.removed]));
    CHECK(timers.run_due(row.until) == row.fire_first);
    CHECK(all.back().fired == (row.due.back() <= row.until ? 1 : 0));
    CHECK(timers.earliest() == row.next);
    CHECK(timers.run_due(110) == all.size() - 1 - row.fire_first);
  }
}

TEST_CASE("a heap agrees with a list of times over random operations, and as it grows") {
  thrum::base::random random(1);
  constexpr std::uint32_t most = 600;  // more than a page holds
  constexpr std::int64_t idle = -1;
  heap timers;
  std::array<timer, most> all;
  std::array<std::int64_t, most> due;
  due.fill(idle);
  std::int64_t now = 0;
  for (int step = 0; step != 20'000; ++step) {
    const std::uint32_t i = random.below(most);
    const std::uint32_t what = random.below(step < 8'000 ? 8 : 4);  // it fills at first
    if (what == 0) {
      CHECK(heap::detach(all[i]) == (due[i] != idle));
      due[i] = idle;
    } else if (what == 1) {
      CHECK(heap::remove(all[i]) == (due[i] != idle));
      due[i] = idle;
    } else if (what == 2 && step % 16 == 0) {
      now += random.below(40);
      const auto expected = std::count_if(
          due.begin(), due.end(), [&](std::int64_t when) { return when != idle && when <= now; });
      REQUIRE(timers.run_due(now) == static_cast<std::size_t>(expected));
      for (std::uint32_t k = 0; k != most; ++k) {
        const bool is_over = due[k] != idle && due[k] <= now;
        REQUIRE(all[k].fired == (is_over ? 1 : 0));
        all[k].fired = 0;
        due[k] = is_over ? idle : due[k];
      }
    } else if (due[i] == idle) {
      due[i] = now + 1 + random.below(1'000);
      timers.add(all[i], due[i]);
    }
    const auto armed =
        std::count_if(due.begin(), due.end(), [](std::int64_t when) { return when != idle; });
    REQUIRE(timers.armed() == static_cast<std::size_t>(armed));
  }
  timers.discard_all();
}

TEST_CASE("a heap that is discarded tells the armed timers, and no others") {
  heap timers;
  struct counted : basic_timer {
    int fired = 0;
    int discarded = 0;
  } armed, stopped;
  for (counted* t : {&armed, &stopped}) {
    t->fire = [](basic_timer& base, bool) noexcept { ++static_cast<counted&>(base).fired; };
    t->discard = [](basic_timer& base) noexcept { ++static_cast<counted&>(base).discarded; };
    timers.add(*t, 5);
  }
  REQUIRE(heap::remove(stopped));
  timers.discard_all();
  REQUIRE(armed.discarded == 1);
  REQUIRE(stopped.discarded == 0);
  REQUIRE(timers.size() == 0);
  REQUIRE(timers.run_due(10) == 0);
  REQUIRE(armed.fired + stopped.fired == 0);
}

TEST_CASE("only the first of the timers that are due together learns that it is the first") {
  heap timers;
  timer a;
  timer b;
  timers.add(a, std::numeric_limits<std::int64_t>::min() + 1);  // at once
  timers.add(b, 6);
  REQUIRE(timers.armed() == 2);
  REQUIRE(timers.run_due(10) == 2);
  REQUIRE(a.was_first);
  REQUIRE_FALSE(b.was_first);
}

TEST_CASE("run_due runs no more timers than are asked for, the earliest first") {
  heap timers;
  std::array<timer, 100> all;
  std::vector<timer*> order;
  for (std::size_t i = 0; i != all.size(); ++i) {
    all[i].order = &order;
    timers.add(all[i], static_cast<std::int64_t>(all.size() - i));
  }
  CHECK(timers.run_due(1'000, 40) == 40);
  CHECK(order.size() == 40);
  CHECK(order.back() == &all[60]);
  CHECK(timers.earliest() == 41);
  CHECK(timers.run_due(1'000, 0) == 0);
  CHECK(timers.run_due(1'000, 100) == 60);
  CHECK(order.back() == &all[0]);
}

TEST_CASE("taking over another heap moves each timer and keeps the order") {
  heap from;
  heap into;
  timer a;
  timer b;
  timer c;
  from.add(a, 30);
  from.add(b, 10);
  into.add(c, 20);
  into.take_all(from);
  REQUIRE(from.size() == 0);
  REQUIRE(from.earliest() == heap::never);
  REQUIRE(into.earliest() == 10);
  REQUIRE(heap::remove(b));
  REQUIRE(into.run_due(25) == 1);
  REQUIRE(c.fired == 1);
  REQUIRE(into.run_due(30) == 1);
}

TEST_CASE("remove returns only when a function that is running has returned") {
  heap timers;
  struct slow : basic_timer {
    std::atomic<bool> inside{false};
    std::atomic<bool> left{false};
  } t;
  t.fire = [](basic_timer& base, bool) noexcept {
    auto& self = static_cast<slow&>(base);
    self.inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    self.left = true;
  };
  timers.add(t, 1);
  std::thread runner([&] { timers.run_due(2); });
  while (!t.inside) {
    std::this_thread::yield();
  }
  REQUIRE_FALSE(heap::remove(t));
  REQUIRE(t.left);
  runner.join();
}

TEST_CASE("threads that add, remove and run together lose no timer") {
  heap timers;
  std::atomic<bool> stop{false};
  std::atomic<long> removed{0};
  constexpr int threads = 3;
  constexpr int rounds = 3000;
  std::vector<std::unique_ptr<timer>> own;
  own.reserve(threads);
  for (int i = 0; i < threads; ++i) {
    own.push_back(std::make_unique<timer>());
  }
  std::thread runner([&] {
    std::int64_t now = 1;
    while (!stop) {
      timers.run_due(now);
      now = now % 3'000 + 1;
    }
    timers.run_due(3'000);
  });
  std::vector<std::thread> others;
  others.reserve(threads);
  for (int i = 0; i < threads; ++i) {
    others.emplace_back([&, i] {
      for (int k = 0; k < rounds; ++k) {
        // Earlier and later than the entry that the last round has left, due and not yet due.
        timers.add(*own[static_cast<std::size_t>(i)], 1 + k * 7 % 3'000);
        if (heap::remove(*own[static_cast<std::size_t>(i)])) {
          ++removed;
        }
      }
    });
  }
  for (auto& t : others) {
    t.join();
  }
  stop = true;
  runner.join();
  long fired = 0;
  for (auto& t : own) {
    fired += t->fired;
  }
  REQUIRE(fired + removed == threads * rounds);
}
