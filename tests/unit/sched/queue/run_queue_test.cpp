// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/queue/run_queue.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

struct item {
  item* queue_next = nullptr;
  unsigned number = 0;  // plain: the queue must publish it
  std::atomic<unsigned> taken{0};
};

template <std::uint32_t Capacity>
struct test_traits {
  static constexpr std::uint32_t run_queue_capacity = Capacity;
  template <class U>
  using atomic = std::atomic<U>;
};

using small_queue = thrum::sched::run_queue<item, test_traits<8>>;

bool never() { return false; }
bool always() { return true; }
using batch = thrum::base::intrusive_queue<item>;

// Every test runs on fresh indices and on indices that wrap in the middle of it.
std::uint32_t first_index() {
  return GENERATE(std::uint32_t{0}, std::numeric_limits<std::uint32_t>::max() - 4);
}

struct items {
  explicit items(unsigned count) : all(std::make_unique<item[]>(count)) {
    for (unsigned i = 0; i != count; ++i) {
      all[i].number = i;
    }
  }
  item* operator[](unsigned i) { return &all[i]; }
  std::unique_ptr<item[]> all;
};

template <class Queue>
void push_range(Queue& queue, items& some, unsigned first, unsigned last) {
  for (unsigned i = first; i != last; ++i) {
    REQUIRE(queue.push(some[i]).empty());
  }
}

std::vector<unsigned> numbers(batch taken) {
  std::vector<unsigned> result;
  while (item* g = taken.pop_front()) {
    result.push_back(g->number);
  }
  return result;
}

template <class Queue>
std::vector<unsigned> pop_all(Queue& queue) {
  std::vector<unsigned> result;
  while (item* g = queue.pop()) {
    result.push_back(g->number);
  }
  return result;
}

using list = std::vector<unsigned>;

}  // namespace

TEST_CASE("a ring gives its Gs back in the order in which they came") {
  small_queue queue(first_index());
  items some(8);
  CHECK(queue.empty());
  CHECK(queue.pop() == nullptr);
  for (int round = 0; round != 5; ++round) {
    push_range(queue, some, 0, 8);
    CHECK_FALSE(queue.empty());
    CHECK(queue.size() == 8);
    CHECK(queue.ring_size() == 8);
    CHECK(pop_all(queue) == list{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(queue.empty());
    CHECK(queue.size() == 0);
  }
}

TEST_CASE("a push to a full ring gives away the older half and then the new G, again and again") {
  small_queue queue(first_index());
  items some(14);
  push_range(queue, some, 0, 8);
  CHECK(numbers(queue.push(some[8])) == list{0, 1, 2, 3, 8});
  CHECK(queue.size() == 4);
  push_range(queue, some, 9, 13);
  CHECK(numbers(queue.push(some[13])) == list{4, 5, 6, 7, 13});
  CHECK(pop_all(queue) == list{9, 10, 11, 12});
}

TEST_CASE("the runnext is exchanged and taken whole") {
  small_queue queue;
  items some(2);
  CHECK(queue.take_runnext() == nullptr);
  CHECK(queue.exchange_runnext(some[0]) == nullptr);
  CHECK(queue.peek_runnext() == some[0]);
  CHECK_FALSE(queue.empty());
  CHECK(queue.size() == 0);
  CHECK(queue.exchange_runnext(some[1]) == some[0]);
  CHECK(queue.take_runnext() == some[1]);
  CHECK(queue.take_runnext() == nullptr);
  CHECK(queue.peek_runnext() == nullptr);
  CHECK(queue.empty());
}

TEST_CASE("a batch goes in as far as there is room and the rest stays with the caller") {
  small_queue queue(first_index());
  items some(12);
  push_range(queue, some, 0, 3);
  batch more;
  for (unsigned i = 3; i != 12; ++i) {
    more.push_back(some[i]);
  }
  queue.push_batch(more);
  CHECK(queue.size() == 8);
  CHECK(numbers(std::move(more)) == list{8, 9, 10, 11});
  CHECK(pop_all(queue) == list{0, 1, 2, 3, 4, 5, 6, 7});
  batch none;
  queue.push_batch(none);
  CHECK(queue.empty());
}

TEST_CASE("a drained queue gives the ring in order and the runnext last") {
  small_queue queue(first_index());
  items some(8);
  CHECK(queue.drain().empty());
  push_range(queue, some, 0, 7);
  CHECK(queue.exchange_runnext(some[7]) == nullptr);
  CHECK(queue.pop() == some[0]);
  CHECK(numbers(queue.drain()) == list{1, 2, 3, 4, 5, 6, 7});
  CHECK(queue.empty());
}

TEST_CASE("a thief takes the older half rounded up and leaves the other half in order") {
  const std::uint32_t first = first_index();
  for (unsigned count = 0; count <= 8; ++count) {
    small_queue victim(first);
    small_queue thief(first + 3);
    items some(8);
    push_range(victim, some, 0, count);
    const unsigned half = count - count / 2;
    item* const newest = victim.steal_half_into(thief, never);
    if (count == 0) {
      CHECK(newest == nullptr);
      continue;
    }
    REQUIRE(newest == some[half - 1]);
    list stolen = pop_all(thief);
    stolen.push_back(newest->number);
    const list left = pop_all(victim);
    CHECK(stolen.size() == half);
    stolen.insert(stolen.end(), left.begin(), left.end());
    list all;
    for (unsigned i = 0; i != count; ++i) {
      all.push_back(i);
    }
    CHECK(stolen == all);
  }
}

TEST_CASE("a thief takes no more than its own ring has room for") {
  small_queue victim(first_index());
  small_queue thief;
  items some(16);
  push_range(victim, some, 0, 8);
  push_range(thief, some, 8, 15);
  CHECK(victim.steal_half_into(thief, always) == some[1]);  // one stored, one in the hand
  CHECK(thief.size() == 8);
  CHECK(victim.steal_half_into(thief, always) == some[2]);
  CHECK(thief.size() == 8);
  CHECK(pop_all(victim) == list{3, 4, 5, 6, 7});
  CHECK(pop_all(thief) == list{8, 9, 10, 11, 12, 13, 14, 0});
}

TEST_CASE("a thief takes the runnext only of an empty ring, and only if it may") {
  small_queue victim;
  small_queue thief;
  items some(2);
  int asked = 0;
  const auto says = [&](bool may) {
    return [&asked, may] {
      ++asked;
      return may;
    };
  };
  CHECK(victim.exchange_runnext(some[0]) == nullptr);
  CHECK(victim.push(some[1]).empty());
  CHECK(victim.steal_half_into(thief, says(true)) == some[1]);
  CHECK(asked == 0);
  CHECK(victim.steal_half_into(thief, says(false)) == nullptr);
  CHECK(asked == 1);
  CHECK(victim.steal_half_into(thief, says(true)) == some[0]);
  CHECK(asked == 2);
  CHECK(victim.steal_half_into(thief, says(true)) == nullptr);
  CHECK(asked == 2);
  CHECK(thief.empty());
  CHECK(victim.empty());
}

namespace {

// One owner and `Thieves` thieves. Each of `count` Gs is put in once and must come out once.
template <std::uint32_t Capacity, unsigned Thieves>
void stress(unsigned count) {
  using queue_type = thrum::sched::run_queue<item, test_traits<Capacity>>;
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);

  items some(count);
  queue_type queue(std::numeric_limits<std::uint32_t>::max() - count / 2);
  std::atomic<unsigned> taken{0};
  std::atomic<unsigned> wrong{0};

  const auto consume = [&](item* g) {
    const auto index = static_cast<unsigned>(g - some[0]);
    if (g->number != index + count || g->taken.fetch_add(1, std::memory_order_relaxed) != 0) {
      wrong.fetch_add(1);
    }
    taken.fetch_add(1, std::memory_order_relaxed);
  };

  std::atomic<unsigned> ready{0};
  std::vector<std::thread> thieves;
  for (unsigned t = 0; t != Thieves; ++t) {
    thieves.emplace_back([&, t] {
      queue_type own;
      std::minstd_rand random(seed + 1 + t);
      ready.fetch_add(1);
      while (taken.load(std::memory_order_relaxed) != count) {
        const auto dice = random() / 16;
        if (item* g = queue.steal_half_into(own, [&] { return dice % 4 == 0; })) {
          consume(g);
          while (item* next = own.pop()) {
            consume(next);
          }
        } else {
          std::this_thread::yield();
        }
      }
    });
  }

  while (ready != Thieves) {
    std::this_thread::yield();
  }
  std::minstd_rand random(seed);
  unsigned next = 0;
  const auto fresh = [&] {
    item* const g = some[next++];
    g->number += count;
    return g;
  };
  const auto push = [&](item* g) {
    batch overflow = queue.push(g);
    while (item* old = overflow.pop_front()) {
      consume(old);
    }
  };
  while (next != count) {
    switch (random() / 16 % 8) {
      case 0:
      case 1:
      case 2: push(fresh()); break;
      case 3:
        if (item* old = queue.exchange_runnext(fresh())) {
          push(old);
        }
        break;
      case 4: {
        batch some_more;
        for (unsigned i = 0; i != Capacity / 2 && next != count; ++i) {
          some_more.push_back(fresh());
        }
        queue.push_batch(some_more);
        while (item* g = some_more.pop_front()) {
          consume(g);
        }
        break;
      }
      case 5:
        if (item* g = queue.take_runnext()) {
          consume(g);
        }
        break;
      case 6:
        for (unsigned i = 0; i != Capacity / 2; ++i) {
          if (item* g = queue.pop()) {
            consume(g);
          }
        }
        break;
      default:
        if (random() / 16 % 64 == 0) {
          batch rest = queue.drain();
          while (item* g = rest.pop_front()) {
            consume(g);
          }
        }
        break;
    }
  }
  batch rest = queue.drain();
  while (item* g = rest.pop_front()) {
    consume(g);
  }
  for (std::thread& thread : thieves) {
    thread.join();
  }
  CHECK(wrong == 0);
  CHECK(taken == count);
  CHECK(queue.empty());
}

}  // namespace

TEST_CASE("under thieves no G is lost and none runs twice") {
  SECTION("a ring of 2, one thief") { stress<2, 1>(40'000); }
  SECTION("a ring of 4, two thieves") { stress<4, 2>(40'000); }
  SECTION("a ring of 256, three thieves") { stress<256, 3>(200'000); }
}

TEST_CASE("runnext passes from hand to hand complete with what was written to it") {
  // A few Gs go round: the owner readies one, the thief or the owner takes it, writes to it and
  // gives it back. Plain writes on both sides, so a missing order is a data race.
  using queue_type = thrum::sched::run_queue<item, test_traits<4>>;
  constexpr unsigned rounds = 20'000;
  queue_type queue;
  item ball;
  std::atomic<bool> back{true};
  std::atomic<bool> stop{false};
  std::thread thief([&] {
    queue_type own;
    while (!stop.load(std::memory_order_relaxed)) {
      if (item* g = queue.steal_half_into(own, always)) {
        ++g->number;
        back.store(true, std::memory_order_release);
      }
    }
  });
  unsigned played = 0;
  bool was_there = false;
  // Half of the rounds wait until the thief gets a CPU, of which there may be fewer than who wants one.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (played == 0 || (played != rounds && std::chrono::steady_clock::now() < end)) {
    if (back.exchange(false, std::memory_order_acquire)) {
      ++played;
      was_there = queue.exchange_runnext(&ball) != nullptr;
      if (was_there) {
        break;
      }
    }
    if (played % 2 == 0) {
      if (item* g = queue.take_runnext()) {
        ++g->number;
        back.store(true, std::memory_order_release);
      }
    } else {
      std::this_thread::yield();
    }
  }
  while (!back.load(std::memory_order_acquire)) {
    std::this_thread::yield();
  }
  stop.store(true, std::memory_order_relaxed);
  thief.join();
  CHECK_FALSE(was_there);
  CHECK(played != 0);
  CHECK(ball.number == played);
  CHECK(queue.empty());
}
