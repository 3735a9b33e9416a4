// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/debug/tally.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>

namespace {

const int tally_places[8] = {};

}  // namespace

TEST_CASE("a tally has each thing once, however often it was added") {
  thrum::debug::tally seen;
  for (int i = 0; i != 10'000; ++i) {
    seen.add(&tally_places[i % 8], static_cast<std::uint32_t>(i % 2));
  }
  const auto& all = seen.by_kind();
  REQUIRE(all.size() == 8);
  for (std::size_t i = 0; i != 8; ++i) {
    CHECK(all[i].n == 1'250);
    CHECK(all[i].kind == i / 4);
  }
}

TEST_CASE(
    "a tally puts the most frequent first, and equally frequent ones in order of their kinds") {
  thrum::debug::tally seen;
  seen.add(&tally_places[2], 7);
  seen.add(&tally_places[1], 3);
  for (int i = 0; i != 3; ++i) {
    seen.add(&tally_places[0], 9);
  }
  const auto& all = seen.by_frequency();
  REQUIRE(all.size() == 3);
  CHECK(all[0].kind == 9);
  CHECK(all[0].n == 3);
  CHECK(all[1].kind == 3);
  CHECK(all[2].kind == 7);
}

TEST_CASE("a tally of nothing is empty") {
  thrum::debug::tally seen;
  CHECK(seen.by_kind().empty());
  CHECK(seen.by_frequency().empty());
}
