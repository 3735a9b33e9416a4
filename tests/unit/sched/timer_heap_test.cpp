// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/sched/timer_heap.hpp>

#include <thrum/base/random.hpp>
#include <thrum/sched/traits.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "support/catch.hpp"

namespace {

using heap = thrum::sched::timer_heap<thrum::sched::default_traits>;
using basic_timer = thrum::sched::basic_timer<thrum::sched::default_traits>;

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

constexpr auto never_refuse = [] { return false; };

}  // namespace

TEST_CASE("timers fire in the order of their due times", "[timer_heap]") {
  heap timers;
  thrum::base::random random(42);
  std::vector<std::unique_ptr<timer>> all;
  std::vector<timer*> order;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(std::make_unique<timer>());
    all.back()->order = &order;
    all.back()->due = 1 + random.below(500);
    timers.add(*all.back(), all.back()->due, never_refuse);
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

TEST_CASE("earliest is the due time of the first timer after every change", "[timer_heap]") {
  heap timers;
  thrum::base::random random(7);
  std::vector<std::unique_ptr<timer>> armed;
  for (int step = 0; step < 2000; ++step) {
    if (armed.empty() || random.below(3) != 0) {
      armed.push_back(std::make_unique<timer>());
      armed.back()->due = 1 + random.below(1'000'000);
      const bool first = std::all_of(armed.begin(), armed.end() - 1, [&](const auto& t) {
        return t->due > armed.back()->due;
      });
      const auto added = timers.add(*armed.back(), armed.back()->due, never_refuse);
      if (first) {
        REQUIRE(added == heap::added::earliest);
      }
    } else {
      const std::size_t i = random.below(static_cast<std::uint32_t>(armed.size()));
      REQUIRE(heap::remove(*armed[i]));
      armed.erase(armed.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const auto least = std::min_element(armed.begin(), armed.end(), [](auto& a, auto& b) {
      return a->due < b->due;
    });
    REQUIRE(timers.earliest() == (armed.empty() ? heap::never : (*least)->due));
    REQUIRE(timers.size() == armed.size());
  }
  for (auto& t : armed) {
    heap::remove(*t);
  }
}

TEST_CASE("only the first of the timers that are due together is told that it is", "[timer_heap]") {
  heap timers;
  timer a;
  timer b;
  timers.add(a, 5, never_refuse);
  timers.add(b, 6, never_refuse);
  REQUIRE(timers.run_due(10) == 2);
  REQUIRE(a.was_first);
  REQUIRE_FALSE(b.was_first);
}

TEST_CASE("a removed timer does not fire, and removing it again says so", "[timer_heap]") {
  heap timers;
  timer t;
  timers.add(t, 5, never_refuse);
  REQUIRE(heap::remove(t));
  REQUIRE_FALSE(heap::remove(t));
  REQUIRE(timers.run_due(10) == 0);
  REQUIRE(t.fired == 0);
}

TEST_CASE("a timer that is refused is idle and can be armed again", "[timer_heap]") {
  heap timers;
  timer t;
  REQUIRE(timers.add(t, 5, [] { return true; }) == heap::added::refused);
  REQUIRE(timers.earliest() == heap::never);
  REQUIRE(timers.run_due(10) == 0);
  REQUIRE(timers.add(t, 5, never_refuse) == heap::added::earliest);
  REQUIRE(timers.run_due(10) == 1);
}

TEST_CASE("taking over another heap moves each timer and keeps the order", "[timer_heap]") {
  heap from;
  heap into;
  timer a;
  timer b;
  timer c;
  from.add(a, 30, never_refuse);
  from.add(b, 10, never_refuse);
  into.add(c, 20, never_refuse);
  into.take_all(from);
  REQUIRE(from.size() == 0);
  REQUIRE(from.earliest() == heap::never);
  REQUIRE(into.earliest() == 10);
  REQUIRE(heap::remove(b));
  REQUIRE(into.run_due(25) == 1);
  REQUIRE(c.fired == 1);
  REQUIRE(into.run_due(30) == 1);
}

TEST_CASE("remove returns only when a function that is running has returned", "[timer_heap]") {
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
  timers.add(t, 1, never_refuse);
  std::thread runner([&] { timers.run_due(2); });
  while (!t.inside) {
    std::this_thread::yield();
  }
  REQUIRE_FALSE(heap::remove(t));
  REQUIRE(t.left);
  runner.join();
}

TEST_CASE("threads that add, remove and run together lose no timer", "[timer_heap]") {
  heap timers;
  std::atomic<bool> stop{false};
  std::atomic<long> removed{0};
  constexpr int threads = 3;
  constexpr int rounds = 3000;
  std::vector<std::unique_ptr<timer>> own;
  for (int i = 0; i < threads; ++i) {
    own.push_back(std::make_unique<timer>());
  }
  std::thread runner([&] {
    while (!stop) {
      timers.run_due(1'000);
    }
    timers.run_due(1'000);
  });
  std::vector<std::thread> others;
  for (int i = 0; i < threads; ++i) {
    others.emplace_back([&, i] {
      for (int k = 0; k < rounds; ++k) {
        timers.add(*own[static_cast<std::size_t>(i)], 1 + k % 3, never_refuse);
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
