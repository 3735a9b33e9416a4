// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include "support/program.hpp"
#include "support/test.hpp"

TEST_CASE("valgrind knows the stacks of goroutines and finds no error in a program that has none",
          "[once]") {
  if (THRUM_ASAN || THRUM_TSAN || std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // one tool at a time
  }
  if (support::run_line("valgrind --version").exit_code != 0) {
    WARN("skipped: there is no valgrind");
    return;
  }
  const support::program_result r = support::run_line(
      "THRUM_MAXPROCS=2 valgrind -q --error-exitcode=9 '" THRUM_PROGRAMS_PATH "' many_switches");
  INFO(r.text.substr(0, 2'000));
  if (r.says("Valgrind: debuginfo reader: ensure_valid failed")) {
    WARN("skipped: this valgrind cannot read what this compiler writes down for debuggers");
    return;
  }
  if (r.says("failed to start tool") || r.says("Fatal error at startup")) {
    WARN(
        "skipped: this valgrind is for another processor, or has nothing to read its C library by");
    return;
  }
  CHECK(r.exit_code == 0);
  CHECK(r.says("received 2000 bytes"));
}
