// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The intrusive containers: the doubly linked list, the queue and the ring.
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/random.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace {

struct list_item : thrum::base::list_node<list_item> {
  explicit list_item(int n) : number(n) {}
  int number;
};

using list = thrum::base::intrusive_list<list_item>;

std::vector<int> forwards(const list& l) {
  std::vector<int> numbers;
  for (const list_item* i = l.front(); i != nullptr; i = list::next(*i)) {
    numbers.push_back(i->number);
  }
  return numbers;
}

std::vector<int> backwards(const list& l) {
  std::vector<int> numbers;
  for (const list_item* i = l.back(); i != nullptr; i = list::prev(*i)) {
    numbers.insert(numbers.begin(), i->number);
  }
  return numbers;
}

}  // namespace

TEST_CASE("a list gives its elements back from the front") {
  list l;
  list_item a(1), b(2), c(3);
  CHECK(l.empty());
  CHECK(l.pop_front() == nullptr);
  l.push_back(b);
  l.push_back(c);
  l.push_front(a);
  CHECK(forwards(l) == std::vector{1, 2, 3});
  CHECK(l.pop_front() == &a);
  CHECK(l.pop_front() == &b);
  CHECK(l.pop_front() == &c);
  CHECK(l.pop_front() == nullptr);
  CHECK(l.empty());
  CHECK(l.back() == nullptr);
}

TEST_CASE("an element knows whether it is in a list") {
  list l;
  list_item a(1);
  CHECK_FALSE(a.linked);
  l.push_back(a);
  CHECK(a.linked);
  l.remove(a);
  CHECK_FALSE(a.linked);
  CHECK(a.next == nullptr);
  CHECK(a.prev == nullptr);
}

TEST_CASE("an element can be removed from the front, the middle and the end") {
  for (int removed = 1; removed <= 3; ++removed) {
    list l;
    list_item a(1), b(2), c(3);
    l.push_back(a);
    l.push_back(b);
    l.push_back(c);
    l.remove(removed == 1 ? a : removed == 2 ? b : c);
    std::vector<int> left{1, 2, 3};
    left.erase(left.begin() + (removed - 1));
    CHECK(forwards(l) == left);
    CHECK(backwards(l) == left);
  }
}

TEST_CASE("taking all elements leaves the list empty and usable") {
  list l;
  list_item a(1), b(2);
  l.push_back(a);
  l.push_back(b);
  list taken = l.take_all();
  CHECK(l.empty());
  CHECK(forwards(taken) == std::vector{1, 2});
  taken.remove(a);
  l.push_back(a);
  CHECK(forwards(l) == std::vector{1});
  CHECK(forwards(taken) == std::vector{2});
}

TEST_CASE("a walk from both ends takes out each element once, and leaves an empty list") {
  const int n = GENERATE(0, 1, 2, 3, 6, 7);
  std::deque<list_item> items;
  list l;
  std::vector<int> expected;
  for (int i = 0; i != n; ++i) {
    l.push_back(items.emplace_back(i));
    expected.push_back(i);
  }
  std::vector<int> first;
  std::vector<int> second;
  l.take_from_both_ends(
      [&](list_item& i) {
        CHECK_FALSE(i.linked);
        first.push_back(i.number);
      },
      [&](list_item& i) {
        CHECK_FALSE(i.linked);
        second.insert(second.begin(), i.number);
      });
  CHECK(l.empty());
  CHECK(first.size() - second.size() <= 1);
  first.insert(first.end(), second.begin(), second.end());
  CHECK(first == expected);
  for (list_item& each : items) {
    l.push_back(each);
  }
  CHECK(forwards(l) == expected);
}

TEST_CASE("a list agrees with a deque over ten thousand random operations") {
  thrum::base::random random(1);
  std::deque<list_item> items;
  for (int i = 0; i < 32; ++i) {
    items.emplace_back(i);
  }
  list l;
  std::vector<int> expected;
  for (int step = 0; step < 10'000; ++step) {
    list_item& i = items[random.below(32)];
    if (i.linked) {
      l.remove(i);
      std::erase(expected, i.number);
    } else if (random.below(2) == 0) {
      l.push_back(i);
      expected.push_back(i.number);
    } else {
      l.push_front(i);
      expected.insert(expected.begin(), i.number);
    }
    REQUIRE(forwards(l) == expected);
    REQUIRE(backwards(l) == expected);
  }
}

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

namespace {

struct ring_element : thrum::base::list_node<ring_element> {
  int value = 0;
};
using ring = thrum::base::intrusive_ring<ring_element>;

static_assert(sizeof(ring) == sizeof(void*));

}  // namespace

TEST_CASE("a ring gives its elements in the order in which they came") {
  ring all;
  ring_element elements[3];
  CHECK(all.front() == nullptr);
  CHECK(all.pop_front() == nullptr);
  for (ring_element& each : elements) {
    all.push_back(each);
  }
  for (ring_element& each : elements) {
    CHECK(all.front() == &each);
    CHECK(all.pop_front() == &each);
    CHECK_FALSE(each.linked);
  }
  CHECK(all.pop_front() == nullptr);
}

TEST_CASE("any elements may leave a ring, and come back, as of a plain queue") {
  ring all;
  std::vector<ring_element> elements(8);
  std::vector<ring_element*> expected;
  thrum::base::random random(7);
  for (int i = 0; i != 2'000; ++i) {
    ring_element& one = elements[random.below(static_cast<std::uint32_t>(elements.size()))];
    if (one.linked) {
      all.remove(one);
      expected.erase(std::find(expected.begin(), expected.end(), &one));
    } else {
      all.push_back(one);
      expected.push_back(&one);
    }
    REQUIRE(all.front() == (expected.empty() ? nullptr : expected.front()));
  }
  while (ring_element* const first = all.pop_front()) {
    REQUIRE(first == expected.front());
    expected.erase(expected.begin());
  }
  CHECK(expected.empty());
}

TEST_CASE("all of a ring becomes a list, and the ring is empty") {
  ring all;
  CHECK(all.take_all().empty());
  ring_element elements[3];
  for (ring_element& each : elements) {
    all.push_back(each);
  }
  auto list = all.take_all();
  CHECK(all.front() == nullptr);
  CHECK(list.front() == &elements[0]);
  CHECK(list.back() == &elements[2]);
  for (ring_element& each : elements) {
    CHECK(list.pop_front() == &each);
  }
  CHECK(list.empty());
}
