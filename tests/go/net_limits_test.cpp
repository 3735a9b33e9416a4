// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the network does where descriptors have run out, or a signal would end the program: each in
// a program of its own.

#include "support/catch.hpp"
#include "support/program.hpp"

using support::program_result;
using support::run_program;

TEST_CASE("without descriptors accept waits, uses no processor time, and loses no client") {
  const program_result r = run_program("accept_without_descriptors");
  INFO(r.text);
  CHECK(r.exit_code == 0);
}

TEST_CASE("whatever is written to a connection that is gone is an error, and never SIGPIPE") {
  const program_result r = run_program("write_to_nobody");
  INFO(r.text);
  CHECK(r.signal == 0);
  CHECK(r.exit_code == 0);
}
