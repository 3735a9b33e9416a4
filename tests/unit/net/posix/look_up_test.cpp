// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A resolver that never answers, and a program that ends meanwhile.

#include "support/catch.hpp"
#include "support/program.hpp"

TEST_CASE("dials of names whose servers are silent time out, hold few threads, and end with main") {
  const support::program_result r = support::run_program("silent_names");
  INFO(r.text);
  CHECK(r.exit_code == 0);
}
