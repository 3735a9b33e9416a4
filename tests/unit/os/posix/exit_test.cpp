// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What exit() does in a program with goroutines: the promises of os/posix/exit.hpp, one by one.

#include <thrum/base/config.hpp>

#include "support/catch.hpp"
#include "support/program.hpp"

#include <cstdlib>

using support::program_result;
using support::run_program;

// What musl's exit() does in its own way is said in the head of os/posix/exit.hpp.
#if defined(__GLIBC__)

// EX3
TEST_CASE("exit does not wait for a goroutine that reads standard input") {
  for (const char* const name : {"exit_beside_reader", "exit_beside_blocking_reader"}) {
    const program_result r = run_program(name);
    INFO(name << ": " << r.text);
    CHECK(r.exit_code == 3);
  }
}

#endif

// EX1
TEST_CASE("exit loses nothing that std::cout holds") {
  const program_result r = run_program("exit_with_output_in_streams");
  CHECK(r.exit_code == 3);
  CHECK(r.text == "held by cout\n");
}

#if defined(__GLIBC__)

// EX1
TEST_CASE("exit in a goroutine calls every handler and every destructor, in their order") {
  const program_result r = run_program("exit_with_handlers");
  CHECK(r.exit_code == 3);
  CHECK(r.text == "thread-local\nhandler from within\nhandler from before\ndestroyed\n");
}

#endif

// EX2
TEST_CASE("while exit destroys static objects no goroutine runs") {
  const program_result r = run_program("exit_beside_all_kinds");
  CHECK(r.exit_code == 3);
  // A loop is stopped by a signal; a sanitizer and an emulator keep it back until the loop calls
  // something, and exit does not wait for that.
  if (!THRUM_TSAN && std::getenv("THRUM_TEST_EMULATOR") == nullptr) {
    CHECK(r.text == "all stood still\n");
  }
}

// EX2
TEST_CASE("nor does one that has lost its processor in a call, and computes again") {
  const program_result r = run_program("exit_beside_a_loop_without_a_processor");
  CHECK(r.exit_code == 3);
  if (!THRUM_TSAN && std::getenv("THRUM_TEST_EMULATOR") == nullptr) {  // as above
    CHECK(r.text == "all stood still\n");
  }
}

// EX4
TEST_CASE("a handler of exit gets a lock that a goroutine holds") {
  const program_result r = run_program("exit_needs_a_lock");
  CHECK(r.exit_code == 3);
  CHECK(r.text == "got the lock\n");
}

// EX4
TEST_CASE("a handler of exit may wait for a goroutine, or poll for it") {
  const program_result waits = run_program("exit_waits_for_a_goroutine");
  CHECK(waits.exit_code == 3);
  CHECK(waits.text == "answered\n");
  const program_result polls = run_program("exit_polls_for_a_goroutine");
  CHECK(polls.exit_code == 3);
  CHECK(polls.text == "done\n");
}

#if defined(__GLIBC__)

// EX6
TEST_CASE("of two calls of exit the first one ends the process") {
  CHECK(run_program("exit_twice").exit_code == 3);
}

// EX5
TEST_CASE("a static runtime whose own goroutine calls exit is left as it is") {
  const program_result r = run_program("exit_of_static_runtime");
  INFO(r.text);
  CHECK(r.exit_code == 3);
}

#endif

// EX5
TEST_CASE("a handler of exit may list the goroutines") {
  const program_result r = run_program("exit_and_dump");
  INFO(r.text);
  CHECK(r.exit_code == 3);
  CHECK(r.says("sleeper"));
  CHECK(r.says("dumped\n"));
}

// EX7
#if defined(__GLIBC__)
TEST_CASE("exit in a forked child flushes its output and destroys nothing") {
  const program_result r = run_program("exit_in_child");
  CHECK(r.exit_code == 0);
  CHECK(r.text == "written by the child, status 5\ndestroyed\n");
}
#else
TEST_CASE("exit in a forked child keeps its status and comes to its end") {
  const program_result r = run_program("exit_in_child");
  CHECK(r.exit_code == 0);
  CHECK(r.text == "written by the child, destroyed\nstatus 5\ndestroyed\n");
}
#endif

TEST_CASE("main returns though a goroutine waits for standard input in a file") {
  CHECK(run_program("main_returns_beside_reader").exit_code == 3);
}
