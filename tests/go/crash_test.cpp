// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of how programs die, after what they promise: deadlocks, exits and panics that meet,
// what runs out. Others of them are beside the parts they are about: SimpleDeadlock in
// deadlock_test, StackOverflow, ThreadExhaustion and DoublePanic in panic_test, SignalDuringExec in
// trouble_test. Left out is what C++ or this library has no counterpart of: init functions, stacks
// that grow, and G0StackOverflow, as g0 is a thread's own stack, which the system guards.

#include "support/patterns.hpp"
#include "support/program.hpp"
#include "support/test.hpp"

#include <csignal>

using support::program_result;
using support::run_program;

namespace {

std::size_t count(const std::string& text, const std::string& words) {
  std::size_t n = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    ++n;
  }
  return n;
}

}  // namespace

#if !defined(_WIN32)  // a deadlock is not reported where the system starts threads of its own

TEST_CASE(
    "LockedDeadlock: neither main nor another that is locked to its thread hides a deadlock") {
  if (support::emulated()) {
    return;  // the emulator's threads count as the program's
  }
  for (const char* const program : {"locked_deadlock", "locked_deadlock_of_two"}) {
    const program_result r = run_program(program);
    INFO(program << ": " << r.text);
    CHECK(r.exit_code == 2);
    CHECK(r.says("fatal error: all goroutines are asleep - deadlock!"));
    CHECK(r.says("locked to thread"));
  }
}

#endif

TEST_CASE("GoexitDeadlock: exit of main unwinds it and all others, and run says that it did") {
  const program_result r = run_program("exit_of_main");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(count(r.text, "unwound\n") == 2);
  CHECK_FALSE(r.says("went on"));
  CHECK(r.says("run: "));
  CHECK(r.says("it was ended by this_goroutine::exit"));
}

TEST_CASE(
    "GoexitInPanic, RecoveredPanicAfterGoexit: an exit and a handled exception are no panic") {
  CHECK(run_program("exit_in_a_handler").text == "lives\n");
  CHECK(run_program("exit_in_a_handler").exit_code == 0);
  CHECK(run_program("handled_panic_after_exit").text == "handled\n");
  CHECK(run_program("handled_panic_after_exit").exit_code == 0);
}

TEST_CASE("PanicLoop: an exception whose text cannot be had ends the program all the same") {
  const program_result r = run_program("panic_in_a_panic");
  INFO(r.text);
  CHECK(r.signal == SIGABRT);
  CHECK(r.says("another exception was thrown while the first one was reported"));
}

// PanicAfterGoexit, PanicDeadlockGosched, PanicDeadlockSyscall, PanicWhilePanicking, PanicRace, GoNil.
TEST_CASE("a panic is reported once, wherever it began and whatever waits beside it") {
  struct row {
    const char* program;
    const char* what;
  };
  for (const row& each :
       {row{"panic_after_exit", "on the way out"}, row{"panic_after_yield", "thrown on"},
        row{"panic_after_blocking", "thrown on"}, row{"panic_that_waits", "well considered"},
        row{"panic_beside_the_end", "main would end"}, row{"go_nothing", ".*"}}) {
    const program_result r = run_program(each.program);
    INFO(each.program << ": " << r.text);
    CHECK(r.signal == SIGABRT);
    CHECK(support::has_match(
        r.text, std::string("thrum: panic in goroutine [0-9]+: ") + each.what + "\n\ttype "));
    CHECK(count(r.text, "thrum: panic in goroutine") == 1);
  }
  CHECK(run_program("go_nothing").says("std::bad_function_call"));
}

TEST_CASE("NoHelperGoroutines: in a program that starts none there is main alone") {
  const program_result r = run_program("dump_alone");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.text.rfind("goroutine 1 [running]", 0) == 0);
  CHECK(count("\n" + r.text, "\ngoroutine ") == 1);
}

TEST_CASE("ThreadExhaustion: goroutines locked to more threads than allowed are a fatal error") {
  const program_result r = run_program("thread_limit_of_locked");
  INFO(r.text);
  CHECK(r.signal == SIGABRT);
  CHECK(r.says("more than 5 threads"));
  CHECK(r.says("locked to their threads"));
}
