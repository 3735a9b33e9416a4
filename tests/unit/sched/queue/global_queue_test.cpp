// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/queue/global_queue.hpp>

#include <thrum/detail/sched/core/traits.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "support/catch.hpp"

namespace {

struct queued {
  bool preempted = false;
  std::uint32_t passed_over = 0;
  int cpu = 0;
  queued* queue_next = nullptr;
  queued* queue_ahead = nullptr;
  thrum::base::one_writer<void*> sp{nullptr};
};

using queue = thrum::sched::global_queue<queued, thrum::sched::traits>;

bool is_on_1(const queued& i) { return i.cpu == 1; }

}  // namespace

TEST_CASE("the global queue gives in the order in which it took") {
  queue q;
  std::array<queued, 5> items;
  for (auto& i : items) {
    q.push_back(i);
  }
  REQUIRE(q.size() == 5);
  for (auto& i : items) {
    REQUIRE(q.pop() == &i);
  }
  REQUIRE(q.empty());
  REQUIRE(q.pop() == nullptr);
}

TEST_CASE("a share is the queue's size by the number of processors, plus one") {
  queue q;
  std::array<queued, 100> items;
  for (auto& i : items) {
    q.push_back(i);
  }
  REQUIRE(q.take_share(4, 128).size() == 26);
  REQUIRE(q.take_share(1, 10).size() == 10);
  REQUIRE(q.take_share(1, 128).size() == 64);
  REQUIRE(q.take_share(1, 128).empty());
}

TEST_CASE("what a retiring processor leaves comes first") {
  queue q;
  std::array<queued, 4> items;
  q.push_back(items[2]);
  thrum::base::intrusive_queue<queued> left;
  left.push_back(&items[0]);
  left.push_back(&items[1]);
  q.prepend(std::move(left));
  thrum::base::intrusive_queue<queued> more;
  more.push_back(&items[3]);
  q.append(std::move(more));
  for (auto& i : items) {
    REQUIRE(q.pop() == &i);
  }
}

TEST_CASE("a preempted goroutine that has time left goes before all others") {
  queue q;
  std::array<queued, 3> items;
  q.push_back(items[0]);
  q.push_preempted(items[1], false);
  q.push_preempted(items[2], true);
  REQUIRE(q.pop() == &items[2]);
  REQUIRE(q.pop() == &items[0]);
  REQUIRE(q.pop() == &items[1]);
  REQUIRE(q.empty());
}

TEST_CASE("of preempted goroutines whose turn it is, one that suits goes first") {
  queue q;
  std::array<queued, 4> items;
  items[1].cpu = 1;
  items[3].cpu = 1;
  for (auto& i : items) {
    q.push_preempted(i, false);
  }
  for (const std::size_t next : {1U, 3U, 0U}) {
    REQUIRE(q.take_preempted_in_turn(is_on_1, 2) == &items[next]);
  }
  REQUIRE(q.size() == 1);
}

TEST_CASE("a preempted goroutine is passed over only so many times") {
  queue q;
  std::array<queued, 6> items;
  for (auto& i : items) {
    i.cpu = 1;
    q.push_preempted(i, false);
  }
  items[0].cpu = 0;
  for (const std::size_t next : {1U, 2U, 0U}) {
    REQUIRE(q.take_preempted_in_turn(is_on_1, 2) == &items[next]);
  }
  q.push_preempted(items[0], true);
  REQUIRE(q.take_preempted_in_turn(is_on_1, 2) == &items[3]);  // it counts from 0 again
}

TEST_CASE("no preempted goroutine goes before one that waits in front of it") {
  queue q;
  std::array<queued, 3> items;
  items[2].cpu = 1;
  REQUIRE(q.take_preempted_in_turn(is_on_1, 2) == nullptr);
  q.push_back(items[0]);
  q.push_preempted(items[2], false);
  REQUIRE(q.take_preempted_in_turn(is_on_1, 2) == nullptr);
  q.push_preempted(items[1], true);
  REQUIRE(q.take_preempted_in_turn(is_on_1, 2) == &items[1]);  // items[0] stands between
}

TEST_CASE("an item that has given way comes after the others, but at the latest after three") {
  queue q;
  std::array<queued, 8> others;
  std::array<queued, 2> behind;
  q.push_behind(behind[0]);
  q.push_behind(behind[1]);
  CHECK_FALSE(q.others_wait());
  for (auto& i : others) {
    q.push_back(i);
  }
  CHECK(q.others_wait());
  CHECK(q.size() == others.size() + behind.size());
  for (const std::size_t first : {0U, 3U}) {
    for (std::size_t i = first; i != first + 3; ++i) {
      REQUIRE(q.pop() == &others[i]);
    }
    REQUIRE(q.pop() == &behind[first / 3]);
  }
  REQUIRE(q.pop() == &others[6]);
}

TEST_CASE("items that have given way do not leave in a batch") {
  queue q;
  std::array<queued, 4> behind;
  for (auto& i : behind) {
    q.push_behind(i);
  }
  REQUIRE(q.take_share(1, 128).size() == 1);
  REQUIRE(q.size() == 3);
}

TEST_CASE("preempted goroutines take turns with those that have given way") {
  queue q;
  std::array<queued, 8> stopped;
  queued behind;
  q.push_behind(behind);
  for (auto& i : stopped) {
    q.push_preempted(i, false);
  }
  const auto any = [](const queued&) { return true; };
  for (int i = 0; i != 3; ++i) {
    REQUIRE(q.take_preempted_in_turn(any, 100) != nullptr);
  }
  REQUIRE(q.take_preempted_in_turn(any, 100) == nullptr);
  REQUIRE(q.pop() == &behind);
  REQUIRE(q.take_preempted_in_turn(any, 100) != nullptr);
}

TEST_CASE("what has given way or has returned is found out of turn") {
  queue q;
  std::array<queued, 3> behind;
  for (auto& i : behind) {
    q.push_behind(i);
  }
  behind[1].cpu = 7;
  const auto is_on_7 = [](const queued& each) { return each.cpu == 7; };
  REQUIRE(q.take(is_on_7) == &behind[1]);
  REQUIRE(q.size() == 2);
  queued returned;
  returned.cpu = 7;
  queue::queue all;
  all.push_back(&returned);
  q.append_returned(std::move(all));
  REQUIRE(q.take(is_on_7) == &returned);
  REQUIRE(q.size() == 2);
}

TEST_CASE("items that have returned take turns with those that have given way") {
  queue q;
  std::array<queued, 2> behind;
  std::array<queued, 3> returned;
  for (auto& i : behind) {
    q.push_behind(i);
  }
  queue::queue all;
  for (auto& i : returned) {
    all.push_back(&i);
  }
  q.append_returned(std::move(all));
  CHECK(q.size() == behind.size() + returned.size());
  CHECK_FALSE(q.others_wait());
  for (std::size_t i = 0; i != behind.size(); ++i) {
    REQUIRE(q.pop() == &behind[i]);
    REQUIRE(q.pop() == &returned[i]);
  }
  REQUIRE(q.pop() == &returned[2]);
  CHECK(q.empty());
}

TEST_CASE("an item that has returned comes at the latest after three others") {
  queue q;
  std::array<queued, 4> others;
  queued returned;
  queue::queue all;
  all.push_back(&returned);
  q.append_returned(std::move(all));
  for (auto& i : others) {
    q.push_back(i);
  }
  REQUIRE(q.take_share(1, 128).front() == &others[0]);  // alone, as its turn will come
  REQUIRE(q.pop() == &others[1]);
  REQUIRE(q.pop() == &others[2]);
  REQUIRE(q.pop() == &returned);
  REQUIRE(q.pop() == &others[3]);
}
