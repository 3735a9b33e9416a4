// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The singly linked queue.
#include <thrum/base/intrusive_queue.hpp>

#include <deque>
#include <utility>
#include <vector>

#include <thrum/base/random.hpp>

#include "../../support/catch.hpp"

namespace {

struct numbered {
  int number = 0;
  numbered* queue_next = nullptr;
};

using numbered_queue = thrum::base::intrusive_queue<numbered>;

std::vector<int> drained(numbered_queue& q) {
  std::vector<int> numbers;
  const std::size_t size = q.size();
  while (numbered* const i = q.pop_front()) {
    numbers.push_back(i->number);
    CHECK(i->queue_next == nullptr);
  }
  CHECK(numbers.size() == size);
  CHECK(q.size() == 0);
  return numbers;
}

struct numbered_items {
  std::deque<numbered> items;
  numbered* operator()(int n) {
    items.push_back({n, nullptr});
    return &items.back();
  }
};

}  // namespace

TEST_CASE("a queue gives back what was pushed first") {
  numbered_items make;
  numbered_queue q;
  CHECK(q.empty());
  CHECK(q.pop_front() == nullptr);
  q.push_back(make(2));
  q.push_back(make(3));
  q.push_front(make(1));
  CHECK(q.front()->number == 1);
  CHECK(drained(q) == std::vector{1, 2, 3});
  CHECK(q.empty());
  CHECK(q.front() == nullptr);
}

TEST_CASE("an element pushed in front of nothing is also the last") {
  numbered_items make;
  numbered_queue q;
  q.push_front(make(1));
  q.push_back(make(2));
  CHECK(drained(q) == std::vector{1, 2});
}

TEST_CASE("appending and prepending keep the order of both queues") {
  for (int mine = 0; mine < 3; ++mine) {
    for (int others = 0; others < 3; ++others) {
      numbered_items make;
      numbered_queue back, front, a, b;
      std::vector<int> appended, prepended;
      for (int i = 0; i < mine; ++i) {
        back.push_back(make(i));
        front.push_back(make(i));
        appended.push_back(i);
        prepended.push_back(i);
      }
      for (int i = 0; i < others; ++i) {
        a.push_back(make(10 + i));
        b.push_back(make(10 + i));
        appended.push_back(10 + i);
        prepended.insert(prepended.begin() + i, 10 + i);
      }
      back.append(std::move(a));
      front.prepend(std::move(b));
      CHECK(a.empty());
      CHECK(b.empty());
      CHECK(b.size() == 0);
      CHECK(drained(back) == appended);
      CHECK(drained(front) == prepended);
      b.push_back(make(5));
      CHECK(drained(b) == std::vector{5});
    }
  }
}

TEST_CASE("taking n from the front splits the queue there") {
  for (std::size_t n = 0; n <= 5; ++n) {
    numbered_items make;
    numbered_queue q;
    for (int i = 0; i < 4; ++i) {
      q.push_back(make(i));
    }
    numbered_queue taken = q.pop_front_n(n);
    CHECK(taken.size() == std::min<std::size_t>(n, 4));
    CHECK(q.size() == 4 - taken.size());
    std::vector<int> all = drained(taken);
    q.push_back(make(4));
    const std::vector<int> rest = drained(q);
    all.insert(all.end(), rest.begin(), rest.end());
    CHECK(all == std::vector{0, 1, 2, 3, 4});
  }
}

TEST_CASE("a moved queue takes its elements along") {
  numbered_items make;
  numbered_queue q;
  q.push_back(make(1));
  numbered_queue moved(std::move(q));
  CHECK(q.empty());
  numbered_queue assigned;
  assigned = std::move(moved);
  CHECK(moved.empty());
  CHECK(drained(assigned) == std::vector{1});
}

TEST_CASE("a queue agrees with a deque over ten thousand random operations") {
  thrum::base::random random(7);
  std::deque<numbered> items(64);
  numbered_queue q;
  std::deque<numbered*> expected;
  numbered_queue free;
  for (numbered& i : items) {
    free.push_back(&i);
  }
  for (int step = 0; step < 10'000; ++step) {
    switch (random.below(4)) {
      case 0:
        if (numbered* const i = free.pop_front()) {
          q.push_back(i);
          expected.push_back(i);
        }
        break;
      case 1:
        if (numbered* const i = free.pop_front()) {
          q.push_front(i);
          expected.push_front(i);
        }
        break;
      case 2:
        if (numbered* const i = q.pop_front()) {
          REQUIRE(i == expected.front());
          expected.pop_front();
          free.push_back(i);
        }
        break;
      default: {
        numbered_queue taken = q.pop_front_n(random.below(3));
        expected.erase(expected.begin(),
                       expected.begin() + static_cast<std::ptrdiff_t>(taken.size()));
        free.append(std::move(taken));
      }
    }
    REQUIRE(q.size() == expected.size());
    REQUIRE(q.front() == (expected.empty() ? nullptr : expected.front()));
  }
}
