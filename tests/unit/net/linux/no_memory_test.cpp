// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Descriptors where there is no memory: in a program of its own.

#include "support/catch.hpp"
#include "support/program.hpp"

TEST_CASE("without memory for another descriptor there is an error_code, and nothing stays open") {
  const support::program_result r = support::run_program("descriptors_without_memory");
  INFO(r.text);
  CHECK(r.signal == 0);
  CHECK(r.exit_code == 0);
}
