// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What programs with a main loop ask of a library. Programs of their own: tests/programs/opt_in/host_rules.cpp.
#include "support/catch.hpp"
#include "support/program.hpp"

#ifdef THRUM_HOST_RULES_PATH  // sanitizers have an operator new and handlers of their own

TEST_CASE("frames of poll, jobs and calls on the host allocate nothing once all is warm") {
  const auto result = support::run_file(THRUM_HOST_RULES_PATH, "frames_allocate_nothing");
  INFO(result.text);
  CHECK(result.exit_code == 0);
}

TEST_CASE(
    "with preemption::cooperative no signal has a handler, and blocked goroutines lose their "
    "processor") {
  const auto result = support::run_file(THRUM_HOST_RULES_PATH, "cooperative_without_handlers");
  INFO(result.text);
  CHECK(result.exit_code == 0);
}

#endif
