// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sched/io/poll_table.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <set>
#include <vector>

using thrum::sched::poll_desc;
using thrum::sched::poll_table;

TEST_CASE("each descriptor of the table is found by its number, however many there are") {
  const thrum::sched::section here;
  std::vector<poll_desc*> all;
  for (int i = 0; i != 5000; ++i) {  // several chunks
    all.push_back(poll_table::take());
  }
  for (poll_desc* const each : all) {
    REQUIRE(each != nullptr);
    REQUIRE(poll_table::find(each->index) == each);
  }
  CHECK(std::set<poll_desc*>(all.begin(), all.end()).size() == all.size());
  for (poll_desc* const each : all) {
    poll_table::give_back(*each);
  }
}

TEST_CASE("what was given back to the table of descriptors is taken first") {
  const thrum::sched::section here;
  poll_desc* const first = poll_table::take();
  REQUIRE(first != nullptr);
  poll_table::give_back(*first);
  poll_desc* const again = poll_table::take();
  CHECK(again == first);
  poll_table::give_back(*again);
}

TEST_CASE("a number that no descriptor ever had is not found") {
  CHECK(poll_table::find(std::numeric_limits<std::uint32_t>::max()) == nullptr);
}
