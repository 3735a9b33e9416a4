// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/base/intrusive_ring.hpp>

#include <thrum/base/random.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

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
