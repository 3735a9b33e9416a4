// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/deadline.hpp>

#include <chrono>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace thrum::sched;

TEST_CASE("a duration that is too long to count never ends", "[deadline]") {
  REQUIRE(nanoseconds_of(std::chrono::hours::max()) == no_deadline);
  REQUIRE(deadline_after(std::chrono::hours::max()) == no_deadline);
  REQUIRE(deadline_after(std::chrono::nanoseconds::max()) == no_deadline);
  REQUIRE(deadline_after(std::chrono::duration<double>(1e300)) == no_deadline);
}

TEST_CASE("a duration that is negative ends now", "[deadline]") {
  const auto before = default_traits::now();
  for (const auto d : {-1ns, std::chrono::nanoseconds::min(), 0ns}) {
    const auto deadline = deadline_after(d);
    REQUIRE(deadline >= before);
    REQUIRE(deadline <= default_traits::now());
  }
  REQUIRE(nanoseconds_of(std::chrono::hours::min()) < 0);
}

TEST_CASE("a duration is rounded up, never down", "[deadline]") {
  REQUIRE(nanoseconds_of(std::chrono::duration<double, std::nano>(1.25)) == 2);
  REQUIRE(nanoseconds_of(1us) == 1000);
}

TEST_CASE("a moment of another clock is as far away as on that clock", "[deadline]") {
  const auto before = default_traits::now();
  const auto d = deadline_at(std::chrono::system_clock::now() + 1h);
  REQUIRE(d - before > std::chrono::nanoseconds(59min).count());
  REQUIRE(d - before < std::chrono::nanoseconds(61min).count());
}

TEST_CASE("a moment of the steady clock is taken as it is", "[deadline]") {
  const auto when = std::chrono::steady_clock::now() + 5s;
  REQUIRE(deadline_at(when) == std::chrono::nanoseconds(when.time_since_epoch()).count());
}
