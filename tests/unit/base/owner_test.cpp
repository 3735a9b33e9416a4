// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The generator of scheduling decisions.

#include <thrum/detail/base/doubling.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/base/random.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

using place = thrum::base::doubling_place<3>;

namespace {

/// Counts those that live.
struct owned_number {
  static inline int alive = 0;
  explicit owned_number(int n) noexcept : value(n) { ++alive; }
  owned_number(const owned_number&) = delete;
  ~owned_number() { --alive; }
  int value;
};

using number_owner = thrum::base::owner<owned_number>;

}  // namespace

TEST_CASE("an owner deletes its object once, however often it was moved") {
  {
    number_owner first(new owned_number(1));
    number_owner second(std::move(first));
    CHECK_FALSE(first);
    number_owner third;
    third = std::move(second);
    CHECK_FALSE(second);
    CHECK(third->value == 1);
    CHECK(owned_number::alive == 1);
  }
  CHECK(owned_number::alive == 0);
}

TEST_CASE("an owner deletes what it had when it gets another") {
  number_owner one(new owned_number(1));
  one = number_owner(new owned_number(2));
  CHECK(owned_number::alive == 1);
  CHECK((*one).value == 2);
  one.reset(new owned_number(3));
  CHECK(owned_number::alive == 1);
  CHECK(one.get()->value == 3);
  one.reset();
  CHECK_FALSE(one);
  CHECK(owned_number::alive == 0);
}

TEST_CASE("an owner that is assigned to itself keeps its object") {
  number_owner one(new owned_number(4));
  number_owner& same = one;
  one = std::move(same);
  REQUIRE(one);
  CHECK(one->value == 4);
}

TEST_CASE("what an owner gives up lives on") {
  number_owner one(new owned_number(5));
  owned_number* const given = one.release();
  CHECK_FALSE(one);
  CHECK(owned_number::alive == 1);
  delete given;
}

TEST_CASE("the places of an array that grows by doubling follow each other without a gap") {
  unsigned chunk = 0;
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i != 10'000; ++i) {
    REQUIRE(place::of(i).chunk == chunk);
    REQUIRE(place::of(i).at == at);
    if (++at == place::size_of(chunk)) {
      ++chunk;
      at = 0;
    }
  }
}

TEST_CASE(
    "each chunk of an array that grows by doubling but the first is as long as all before it") {
  std::uint32_t before = place::size_of(0);
  CHECK(before == 8);
  for (unsigned chunk = 1; chunk != place::chunks_for(20); ++chunk) {
    CHECK(place::size_of(chunk) == before);
    before += place::size_of(chunk);
  }
  CHECK(before == 1U << 20);
}

TEST_CASE("the last index that 32 bits can say has a place in an array that grows by doubling") {
  const place last = place::of(std::numeric_limits<std::uint32_t>::max());
  CHECK(last.chunk == place::chunks_for(32) - 1);
  CHECK(last.at == place::size_of(last.chunk) - 1);
}

TEST_CASE("equal seeds give equal sequences and neighbouring seeds give different ones") {
  thrum::base::random a(5), b(5), c(6);
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t n = a.next();
    REQUIRE(n == b.next());
    same += n == c.next();
  }
  CHECK(same < 3);
}

TEST_CASE("seed zero works like any other") {
  thrum::base::random r(0);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(r.next());
  }
  CHECK(seen.size() > 990);
}

TEST_CASE("numbers stay below the limit, also the smallest and the largest limit") {
  thrum::base::random r(3);
  for (const std::uint32_t n : {1u, 2u, 3u, 7u, 64u, 0x8000'0001u, 0xFFFF'FFFFu}) {
    for (int i = 0; i < 1000; ++i) {
      REQUIRE(r.below(n) < n);
    }
  }
  CHECK(r.below(0) == 0);
}

TEST_CASE("each number below a limit is about equally likely") {
  for (const std::uint32_t n : {2u, 3u, 5u, 7u, 10u}) {
    thrum::base::random r(n);
    std::array<int, 10> counts{};
    constexpr int draws = 100'000;
    for (int i = 0; i < draws; ++i) {
      ++counts[r.below(n)];
    }
    for (std::uint32_t k = 0; k < n; ++k) {
      const double expected = static_cast<double>(draws) / n;
      CHECK(counts[k] > expected * 0.95);
      CHECK(counts[k] < expected * 1.05);
    }
  }
}

TEST_CASE("a limit that is no divisor of the range has no bias towards small numbers") {
  // A remainder would give numbers below 2^30 half of the time here, not a third.
  thrum::base::random r(11);
  constexpr std::uint32_t limit = 0xC000'0000;
  int low = 0;
  constexpr int draws = 100'000;
  for (int i = 0; i < draws; ++i) {
    low += r.below(limit) < limit / 3;
  }
  CHECK(low > draws / 3 - 2000);
  CHECK(low < draws / 3 + 2000);
}
