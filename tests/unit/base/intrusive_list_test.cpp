// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The doubly linked list.
#include <thrum/base/intrusive_list.hpp>

#include <deque>
#include <vector>

#include <thrum/base/random.hpp>

#include "../../support/catch.hpp"

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
