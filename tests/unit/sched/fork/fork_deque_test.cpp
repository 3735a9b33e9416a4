// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/fork/fork_deque.hpp>

#include <thrum/detail/sched/queue/lock.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct half {
  std::atomic<unsigned> taken{0};
};

struct deque_traits {
  static constexpr std::uint32_t fork_capacity = 8;
  static constexpr std::uint32_t fork_credit = 2;
  static constexpr std::uint32_t fork_walk = 16;
  template <class U>
  using atomic = std::atomic<U>;
  using heap_lock = thrum::sched::spin_lock;
  static void light_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
  static void heavy_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
};

using fork_list = thrum::sched::fork_list<half, deque_traits>;
using fork_deque = thrum::sched::fork_deque<half, deque_traits>;

// A deque in its list, with indices that may wrap in the middle of a test.
struct one_deque {
  explicit one_deque(std::uint32_t first_index = 0) : deque(list, 0, first_index) {
    list.add(deque);
  }
  ~one_deque() { list.remove(deque); }

  half* steal() {
    return list.steal([](half&) {});
  }
  bool take_back() { return deque.pop() || deque.pop_slow(); }

  fork_list list;
  fork_deque deque;
};

std::uint32_t deque_start() {
  return GENERATE(std::uint32_t{0}, std::numeric_limits<std::uint32_t>::max() - 2);
}

}  // namespace

TEST_CASE("an entry that a thief rejects, or may not take, stays its owner's") {
  one_deque own(deque_start());
  half halves[2];
  REQUIRE(own.deque.push(halves[0]));
  REQUIRE(own.deque.push(halves[1]));
  CHECK(own.list.steal([] { return false; }, [](half&) {}) == nullptr);
  {
    const thrum::sched::scoped guard(own.list.lock());
    CHECK(own.deque.steal_locked([] { return false; }) == nullptr);
    CHECK(own.deque.steal_locked([] { return true; }) == &halves[0]);
    CHECK(own.deque.steal_locked([] { return false; }) == nullptr);
  }
  CHECK(own.take_back());
  CHECK(!own.take_back());
}

TEST_CASE("a thief sees what the owner had done when it added the entry, and may leave it then") {
  one_deque own;
  half one;
  bool is_done = false;
  const thrum::sched::scoped guard(own.list.lock());
  // As a thief of forks does: what it looked at before may have changed when it has an entry.
  const auto is_part = [&] { return !is_done; };
  REQUIRE(is_part());
  is_done = true;
  REQUIRE(own.deque.push(one));
  CHECK(own.deque.steal_locked(is_part) == nullptr);
  CHECK(own.deque.pop());
}

TEST_CASE("a thief takes the oldest half, its owner the newest, and learns which were stolen") {
  one_deque own(deque_start());
  half halves[4];
  for (const int stolen : {0, 2}) {
    for (half& each : halves) {
      REQUIRE(own.deque.push(each));
    }
    for (int i = 0; i != stolen; ++i) {
      CHECK(own.steal() == &halves[i]);
    }
    for (int i = 0; i != 4; ++i) {
      CHECK(own.take_back() == (i < 4 - stolen));
    }
    CHECK(own.deque.is_drained());
    CHECK(own.steal() == nullptr);
  }
}

TEST_CASE("a deque is full with one slot free, and has room again for what was stolen") {
  one_deque own(deque_start());
  half halves[9];
  for (std::size_t i = 0; i != 7; ++i) {
    REQUIRE(own.deque.push(halves[i]));
  }
  CHECK(!own.deque.push(halves[7]));
  CHECK(own.steal() == &halves[0]);
  CHECK(own.deque.push(halves[7]));
  CHECK(!own.deque.push(halves[8]));
  for (int i = 0; i != 7; ++i) {
    CHECK(own.take_back());
  }
  CHECK(!own.take_back());
}

TEST_CASE("a list finds a half in any of its deques, and says whether it has one") {
  fork_list list;
  fork_deque first(list);
  fork_deque second(list);
  CHECK(!list.has_work());
  list.add(first);
  list.add(second);
  CHECK(!list.has_work());
  CHECK(list.steal([](half&) {}) == nullptr);
  half one;
  REQUIRE(second.push(one));
  CHECK(list.has_work());
  half* told = nullptr;
  CHECK(list.steal([&](half& taken) { told = &taken; }) == &one);
  CHECK(told == &one);
  CHECK(!list.has_work());
  CHECK(!second.pop());
  CHECK(!second.pop_slow());
  list.remove(first);
  list.remove(second);
}

TEST_CASE(
    "first() of a list of forks differs after each step of an owner or a thief, and only then") {
  fork_list list;
  fork_deque own(list);
  list.add(own);
  CHECK(list.first() == 0);
  half halves[2];
  REQUIRE(own.push(halves[0]));
  auto before = list.first();
  CHECK(before != 0);
  CHECK(list.first() == before);
  const auto has_changed = [&] { return std::exchange(before, list.first()) != before; };
  REQUIRE(own.push(halves[1]));
  CHECK(has_changed());
  REQUIRE(own.pop());
  CHECK(has_changed());
  own.go_on();
  CHECK(has_changed());
  CHECK_FALSE(has_changed());
  REQUIRE(own.push(halves[1]));
  before = list.first();
  CHECK(list.steal([](half&) {}) == &halves[0]);
  CHECK(has_changed());
  REQUIRE(own.pop());
  CHECK(list.first() == 0);
  list.remove(own);
}

TEST_CASE(
    "deques with nothing to give are put aside, and found again with what their owner pushes") {
  fork_list list;
  std::vector<std::unique_ptr<fork_deque>> deques;
  for (int i = 0; i != 20; ++i) {
    deques.push_back(std::make_unique<fork_deque>(list));
    list.add(*deques.back());
  }
  half one;
  REQUIRE(deques[3]->push(one));
  CHECK(!deques[3]->is_aside());
  CHECK(list.has_work());  // it has passed three
  CHECK(list.listed() == 20);
  CHECK(deques[3]->pop());
  CHECK(!list.has_work());
  CHECK(list.listed() == 0);
  CHECK(list.steal([](half&) {}) == nullptr);
  REQUIRE(deques[7]->push(one));
  REQUIRE(deques[7]->is_aside());
  list.list_again(*deques[7]);
  CHECK(!deques[7]->is_aside());
  CHECK(list.listed() == 1);
  CHECK(list.has_work());
  CHECK(list.steal([](half&) {}) == &one);
  CHECK(!deques[7]->pop());
  CHECK(!deques[7]->pop_slow());
  for (auto& each : deques) {
    list.remove(*each);
  }
  CHECK(list.listed() == 0);
}

TEST_CASE("a list knows the largest stack among its owners, also when that one has left") {
  fork_list list;
  fork_deque small(list, 14);
  fork_deque large(list, 20);
  fork_deque also_large(list, 20);
  CHECK(list.largest_class() == 0);
  for (fork_deque* each : {&small, &large, &also_large}) {
    list.add(*each);
  }
  CHECK(list.largest_class() == 20);
  list.remove(large);
  CHECK(list.largest_class() == 20);
  list.remove(also_large);
  CHECK(list.largest_class() == 14);
  list.remove(small);
  CHECK(list.largest_class() == 0);
}

TEST_CASE("calls for help end after two without a thief, and begin again once a thief came") {
  one_deque own;
  CHECK(own.list.spend_credit());
  CHECK(own.list.spend_credit());
  CHECK(!own.list.spend_credit());
  half one;
  REQUIRE(own.deque.push(one));
  CHECK(own.steal() == &one);
  CHECK(!own.take_back());
  CHECK(own.list.spend_credit());
}

TEST_CASE("an owner and two thieves in a hurry take each half of a fork once") {
  constexpr unsigned rounds = 20'000;
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  one_deque own;
  std::vector<half> halves(rounds);
  std::atomic<bool> done{false};
  std::vector<std::thread> thieves;
  for (int i = 0; i != 2; ++i) {
    thieves.emplace_back([&] {
      while (!done.load()) {
        if (half* const one = own.steal()) {
          one->taken.fetch_add(1);
        }
      }
    });
  }
  std::minstd_rand random(seed);
  std::vector<half*> offered;
  std::size_t next = 0;
  while (next != rounds || !offered.empty()) {
    if (next != rounds && random() % 2 == 0 && own.deque.push(halves[next])) {
      offered.push_back(&halves[next++]);
    } else if (!offered.empty()) {
      if (own.take_back()) {
        offered.back()->taken.fetch_add(1);
      }
      offered.pop_back();
    }
  }
  done.store(true);
  for (std::thread& each : thieves) {
    each.join();
  }
  std::size_t taken_once = 0;
  for (const half& each : halves) {
    taken_once += each.taken.load() == 1 ? 1 : 0;
  }
  CHECK(taken_once == rounds);
}
