// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What exit() does in a program with goroutines: the promises of os/posix/exit.hpp, one by one.

#include <thrum/detail/base/config.hpp>

#include "support/program_rows.hpp"
#include "support/scale.hpp"

using support::check_programs;

TEST_CASE("exit in a goroutine loses no output, and calls every handler and destructor in order") {
  check_programs({
    {"exit_with_output_in_streams", 3, "held by cout\n"},  // EX1
// What musl's exit() does in its own way is said in the head of os/posix/exit.hpp.
#if defined(__GLIBC__)
    {
      "exit_with_handlers", 3, "thread-local\nhandler from within\nhandler from before\ndestroyed\n"
    }
#endif
  });
}

// EX2
TEST_CASE("while exit destroys static objects no goroutine runs, nor one without a processor") {
  // A loop is stopped by a signal; a sanitizer and an emulator keep it back until the loop calls
  // something, and exit does not wait for that.
  const char* const text = THRUM_TSAN || support::emulated() ? nullptr : "all stood still\n";
  check_programs(
      {{"exit_beside_all_kinds", 3, text}, {"exit_beside_a_loop_without_a_processor", 3, text}});
}

TEST_CASE("no reader of standard input keeps a program from its end") {
  check_programs({
    {"main_returns_beside_reader", 3},
#if defined(__GLIBC__)  // EX3
        {"exit_beside_reader", 3}, {
      "exit_beside_blocking_reader", 3
    }
#endif
  });
}

// EX4
TEST_CASE(
    "a handler of exit gets a goroutine's lock, and may wait for a goroutine or poll for it") {
  check_programs({{"exit_needs_a_lock", 3, "got the lock\n"},
                  {"exit_waits_for_a_goroutine", 3, "answered\n"},
                  {"exit_polls_for_a_goroutine", 3, "done\n"}});
}

TEST_CASE(
    "exit leaves static runtimes alone, also for a dump, and its first call ends the process") {
  check_programs({
    {"exit_and_dump", 3, nullptr, {"sleeper", "dumped\n"}},  // EX5
#if defined(__GLIBC__)
        {"exit_of_static_runtime", 3},  // EX5
    {
      "exit_twice", 3
    }  // EX6
#endif
  });
}

// EX7
TEST_CASE("exit in a forked child flushes its output and keeps its status") {
#if defined(__GLIBC__)  // and destroys nothing
  const char* const text = "written by the child, status 5\ndestroyed\n";
#else
  const char* const text = "written by the child, destroyed\nstatus 5\ndestroyed\n";
#endif
  check_programs({{"exit_in_child", 0, text}});
}
