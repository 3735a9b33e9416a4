// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs whose first thread runs goroutines, and how they end: tests/programs/hosts.cpp.
#include "support/program.hpp"
#include "support/test.hpp"

#include <csignal>

TEST_CASE("a deadlock of goroutines on the first thread is reported") {
  if (THRUM_TSAN || support::emulated()) {
    return;  // there are threads that are not known, and there is no deadlock to see
  }
  const auto result = support::run_program("deadlock_on_the_first_thread");
  INFO(result.text);
  CHECK(result.exit_code == 2);
  CHECK(result.says("fatal error: all goroutines are asleep - deadlock!"));
  CHECK(result.says("\"other\""));
}

TEST_CASE("exit in a goroutine on a host's thread ends the program with its status") {
  if (THRUM_ASAN) {
    return;  // its search for leaks does not see the stacks of goroutines, which stand still then
  }
  CHECK(support::run_program("exit_on_the_first_thread").exit_code == 3);
  CHECK(support::run_program("exit_inside_of_poll").exit_code == 4);
#if !THRUM_OS_LINUX || defined(__GLIBC__)  // docs/platforms.md: what musl does not promise
  CHECK(support::run_program("exit_inside_of_poll_of_a_static_runtime").exit_code == 5);
#endif
}

TEST_CASE("neither a host nor its goroutines can use the runtime in the child of a fork") {
  for (const char* const program : {"fork_of_a_host_that_polls", "fork_inside_of_poll"}) {
    const auto result = support::run_program(program);
    INFO(program << ": " << result.text);
    CHECK(result.exit_code == 0);
    CHECK(result.says("fatal error: thrum: a runtime was used in a child process after fork"));
    CHECK(result.says("child: signal " + std::to_string(SIGABRT)));
  }
  CHECK(support::run_program("fork_of_a_host_that_polls").says("the parent ran 1"));
}

TEST_CASE(
    "a stack overflow of a goroutine on the first thread, or while any thread polls, is reported") {
  if (THRUM_ASAN || THRUM_TSAN || std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // sanitizers report it themselves; emulators have no guards
  }
  struct row {
    const char* program;
    const char* whose;
  };
  for (const row& each : {row{"overflow_on_the_first_thread", "goroutine 1"},
                          row{"overflow_inside_of_poll", "goroutine 1 [deep]"},
                          row{"overflow_inside_of_run_for", "goroutine 1 [deep]"}}) {
    const auto result = support::run_program(each.program);
    INFO(each.program << ": " << result.text);
    CHECK(support::is_fault(result.signal));
    CHECK(result.says(std::string("fatal error: thrum: stack overflow in ") + each.whose));
  }
}

TEST_CASE("an exception that leaves a goroutine on a host's thread is a panic with its name") {
  const auto result = support::run_program("panic_inside_of_poll");
  INFO(result.text);
  CHECK(result.signal == SIGABRT);
  CHECK(result.says("panic in goroutine 1 [bad]"));
}
