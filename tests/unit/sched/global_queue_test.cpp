// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/sched/global_queue.hpp>

#include <thrum/sched/traits.hpp>

#include <array>
#include <atomic>
#include <utility>

#include "support/catch.hpp"

namespace {

struct item {
  bool preempted = false;
  item* queue_next = nullptr;
  std::atomic<void*> sp{nullptr};
};

using queue = thrum::sched::global_queue<item, thrum::sched::default_traits>;

}  // namespace

TEST_CASE("the global queue gives in the order in which it took", "[global_queue]") {
  queue q;
  std::array<item, 5> items;
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

TEST_CASE("a share is the queue's size by the number of processors, plus one", "[global_queue]") {
  queue q;
  std::array<item, 100> items;
  for (auto& i : items) {
    q.push_back(i);
  }
  REQUIRE(q.take_share(4, 128).size() == 26);
  REQUIRE(q.take_share(1, 10).size() == 10);
  REQUIRE(q.take_share(1, 128).size() == 64);
  REQUIRE(q.take_share(1, 128).empty());
}

TEST_CASE("what a retiring processor leaves comes first", "[global_queue]") {
  queue q;
  std::array<item, 4> items;
  q.push_back(items[2]);
  thrum::base::intrusive_queue<item> left;
  left.push_back(&items[0]);
  left.push_back(&items[1]);
  q.prepend(std::move(left));
  thrum::base::intrusive_queue<item> more;
  more.push_back(&items[3]);
  q.append(std::move(more));
  for (auto& i : items) {
    REQUIRE(q.pop() == &i);
  }
}
