// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/queue/steal_order.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

using thrum::sched::steal_order;

namespace {

bool visits_each_once(steal_order::walk walk, std::uint32_t count) {
  std::vector<bool> seen(count, false);
  std::uint32_t visited = 0;
  for (; !walk.done(); walk.next()) {
    if (walk.position() >= count || seen[walk.position()]) {
      return false;
    }
    seen[walk.position()] = true;
    ++visited;
  }
  return visited == count;
}

std::uint32_t count_coprimes(std::uint32_t count) {
  std::uint32_t result = 0;
  for (std::uint32_t i = 1; i <= count; ++i) {
    result += std::gcd(i, count) == 1 ? 1 : 0;
  }
  return result;
}

}  // namespace

TEST_CASE("the strides of an order are all the coprimes of its count, each once") {
  for (std::uint32_t count = 2; count <= 600; ++count) {
    const steal_order order(count);
    std::set<std::uint32_t> strides;
    for (std::uint32_t i = 0; i != order.strides(); ++i) {
      const std::uint32_t stride = order.start(i * count).stride();
      REQUIRE(std::gcd(stride, count) == 1);
      REQUIRE(stride < count);
      strides.insert(stride);
    }
    REQUIRE(strides.size() == order.strides());
    REQUIRE(order.strides() == count_coprimes(count));
  }
}

TEST_CASE("a walk over many processors visits each exactly once") {
  for (const std::uint32_t count : {1000u, 2310u, 4093u, 4095u, 4096u, 65536u}) {
    const steal_order order(count);
    for (std::uint32_t random = 1; random != 20; ++random) {
      REQUIRE(visits_each_once(order.start(random * 2654435761u), count));
    }
  }
}

TEST_CASE("an order over nothing has walks that are done at once") {
  CHECK(steal_order().start(12345).done());
  CHECK(steal_order(0).start(0).done());
}

TEST_CASE("a walk that is under way is not disturbed by a reset of its order") {
  steal_order order(12);
  const steal_order::walk walk = order.start(77);
  order.reset(5);
  CHECK(order.count() == 5);
  CHECK(visits_each_once(walk, 12));
  CHECK(visits_each_once(order.start(77), 5));
}

TEST_CASE("an order works for every count that fits 32 bits") {
  for (const std::uint32_t count : {223092870u, 4294967291u, 4294967295u, 4294967294u}) {
    const steal_order order(count);
    for (std::uint32_t random = 1; random != 50; ++random) {
      steal_order::walk walk = order.start(random * 2246822519u);
      REQUIRE(walk.position() < count);
      const std::uint64_t expected = (std::uint64_t{walk.position()} + walk.stride()) % count;
      walk.next();
      REQUIRE(walk.position() == expected);
    }
  }
}

TEST_CASE("an order can be computed at compile time") {
  constexpr steal_order order(6);
  STATIC_REQUIRE(order.strides() == 2);
  STATIC_REQUIRE(order.start(8).position() == 2);
}
