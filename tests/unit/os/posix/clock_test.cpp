// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The clock.
#include <thrum/detail/os/posix/clock.hpp>

#include <cstdint>
#include <ctime>
#include <limits>

#include "../../../support/catch.hpp"

using namespace thrum;

TEST_CASE("the clock never goes back") {
  std::int64_t last = os::now();
  CHECK(last > 0);
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t next = os::now();
    REQUIRE(next >= last);
    last = next;
  }
}

TEST_CASE("a deadline lies in the future, or at the end of time instead of beyond it") {
  const std::int64_t before = os::now();
  CHECK(os::deadline_after(1'000'000) >= before + 1'000'000);
  CHECK(os::deadline_after(INT64_MAX) == INT64_MAX);
  const std::int64_t passed = os::deadline_after(-5);
  CHECK(passed >= before);
  CHECK(passed <= os::now());
}

TEST_CASE("nanoseconds split into seconds and the rest") {
  const auto t = os::to_timespec(3'000'000'007);
  CHECK(t.tv_sec == 3);
  CHECK(t.tv_nsec == 7);
}

TEST_CASE("nanoseconds beyond the seconds that a system can count end at its last one") {
  using seconds = decltype(::timespec::tv_sec);
  constexpr std::int64_t last = std::numeric_limits<seconds>::max();
  constexpr std::int64_t all = INT64_MAX / os::nanoseconds_per_second;
  CHECK(os::to_timespec(INT64_MAX).tv_sec == (last < all ? last : all));
}
