// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/base/doubling.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>

using place = thrum::base::doubling_place<3>;

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
