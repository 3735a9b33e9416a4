// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/sched/core/registration.hpp>

#include <thrum.hpp>

#include <cstdint>
#include <optional>
#include <utility>

#include "support/catch.hpp"
#include "support/with_runtime.hpp"

TEST_CASE("schedulers are numbered as they are registered, and no number is given again") {
  const auto number = [](thrum::runtime& of) { return of.scheduler().registered.number(); };
  thrum::runtime first(support::with_procs(1));
  const std::uint64_t firsts = number(first);
  CHECK(firsts != 0);
  std::optional<thrum::runtime> second(std::in_place, support::with_procs(1));
  const std::uint64_t seconds = number(*second);
  CHECK(seconds > firsts);
  second.reset();
  thrum::runtime third(support::with_procs(1));
  CHECK(number(third) > seconds);
  CHECK(number(first) == firsts);
}
