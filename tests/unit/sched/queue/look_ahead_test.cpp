// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/queue/look_ahead.hpp>

#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/global_queue.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace {

struct far_item {
  bool preempted = false;
  std::uint32_t passed_over = 0;
  far_item* queue_next = nullptr;
  far_item* queue_ahead = nullptr;
  thrum::base::one_writer<void*> sp{nullptr};
};

using ahead = thrum::sched::look_ahead<far_item>;
using far_queue = thrum::sched::global_queue<far_item, thrum::sched::traits>;

constexpr std::size_t distance = ahead::distance;
constexpr std::size_t long_queue = ahead::long_queue;

void push_all(far_queue& q, std::vector<far_item>& items) {
  for (far_item& each : items) {
    q.push_back(each);
  }
}

std::size_t count_links(const std::vector<far_item>& items) {
  std::size_t n = 0;
  for (const far_item& each : items) {
    n += each.queue_ahead != nullptr ? 1 : 0;
  }
  return n;
}

}  // namespace

TEST_CASE("an item of a long queue is linked to the one that comes some places later") {
  far_queue q;
  std::vector<far_item> items(long_queue + 100);
  push_all(q, items);
  for (std::size_t i = long_queue; i + distance < items.size(); ++i) {
    REQUIRE(items[i].queue_ahead == &items[i + distance]);
  }
  REQUIRE(count_links(items) == 100 - distance);
}

TEST_CASE("items of a short queue are not linked") {
  far_queue q;
  std::vector<far_item> items(long_queue);
  push_all(q, items);
  REQUIRE(count_links(items) == 0);
}

TEST_CASE("a batch that joins a long queue is linked like items that come one by one") {
  far_queue q;
  std::vector<far_item> items(long_queue);
  push_all(q, items);
  std::vector<far_item> more(50);
  thrum::base::intrusive_queue<far_item> batch;
  for (far_item& each : more) {
    batch.push_back(&each);
  }
  q.append(std::move(batch));
  REQUIRE(count_links(more) == 50 - distance);
  REQUIRE(more[0].queue_ahead == &more[distance]);
}

TEST_CASE("a batch of very many is not walked to link it") {
  far_queue q;
  std::vector<far_item> items(long_queue);
  push_all(q, items);
  std::vector<far_item> more(2 * thrum::sched::traits::run_queue_capacity + 1);
  thrum::base::intrusive_queue<far_item> batch;
  for (far_item& each : more) {
    batch.push_back(&each);
  }
  q.append(std::move(batch));
  REQUIRE(count_links(more) == 0);
}

TEST_CASE("a long queue gives in the order in which it took, one by one and in shares") {
  far_queue q;
  std::vector<far_item> items(3 * long_queue);
  push_all(q, items);
  std::size_t next = 0;
  while (next != items.size()) {
    far_item* const one = q.pop();
    REQUIRE(one == &items[next++]);
    REQUIRE(one->queue_ahead == nullptr);
    auto share = q.take_share(1, 100);
    while (far_item* const item = share.pop_front()) {
      REQUIRE(item == &items[next++]);
    }
  }
  REQUIRE(q.empty());
}

TEST_CASE("a share of a long queue may be all of it") {
  far_queue q;
  std::vector<far_item> items(long_queue);
  push_all(q, items);
  REQUIRE(q.take_share(1, 2 * long_queue).size() == long_queue);
  REQUIRE(q.empty());
}

TEST_CASE("an item that leaves a long queue out of its turn has no link, and none is lost for it") {
  far_queue q;
  std::vector<far_item> items(2 * long_queue);
  push_all(q, items);
  far_item* const picked = &items[long_queue + 10];
  REQUIRE(q.take([&](const far_item& each) { return &each == picked; }) == picked);
  REQUIRE(picked->queue_ahead == nullptr);
  std::size_t left = 0;
  while (q.pop() != nullptr) {
    ++left;
  }
  REQUIRE(left == items.size() - 1);
}

TEST_CASE("looking ahead follows a link once, and does not mind a stack pointer that is none") {
  far_item first;
  far_item second;
  far_item third;
  first.queue_ahead = &second;
  second.queue_ahead = &third;
  ahead::fetch(first);
  REQUIRE(first.queue_ahead == nullptr);
  REQUIRE(second.queue_ahead == &third);
}
