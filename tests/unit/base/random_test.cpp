// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The generator of scheduling decisions.
#include <thrum/detail/base/random.hpp>

#include <array>
#include <cstdint>
#include <set>

#include "../../support/catch.hpp"

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
