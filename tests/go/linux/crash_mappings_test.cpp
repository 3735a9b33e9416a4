// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What go/crash_test.cpp has for threads, of mappings, which are limited on Linux.

#include "support/program.hpp"
#include "support/test.hpp"

using support::program_result;
using support::run_program;

TEST_CASE("goroutines run on when the guards of their stacks have used up their budget") {
  const program_result r = run_program("guards_beyond_budget");
  CHECK(r.exit_code == 0);
  CHECK(r.text == "ran 100, guards 3\n");
}

TEST_CASE(
    "goroutines run on while the program has used up all mappings, and are guarded again later") {
  if (THRUM_ASAN || THRUM_TSAN || std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // they need mappings themselves
  }
  const program_result r = run_program("no_mappings");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  if (!r.says("too many mappings to use them up")) {
    CHECK(r.says("ran 40, some without a guard: yes\n"));
    CHECK(r.says("ran 80 later\n"));
    CHECK(r.says("guards again: yes\n"));
  }
}
