// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/sched/core/exit_state.hpp>

#include <thrum/sched/life/process_exit.hpp>

#include "support/bare_scheduler.hpp"
#include "support/catch.hpp"

TEST_CASE("a scheduler knows that the process exits once it is held for that, and others do not") {
  support::bare_scheduler held(1);
  support::bare_scheduler other(1);
  REQUIRE(held.open() == 0);
  CHECK_FALSE(held->exit.has_begun());
  thrum::sched::process_exit::hold(*held);
  CHECK(held->exit.has_begun());
  CHECK_FALSE(other->exit.has_begun());
}
