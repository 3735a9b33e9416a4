// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How programs end, looked at from outside; see programs/main.cpp for what each does.

#include <thrum/panic.hpp>

#include "support/patterns.hpp"
#include "support/program.hpp"
#include "support/test.hpp"

#include <csignal>
#include <exception>
#include <sstream>

using support::program_result;
using support::run_program;

TEST_CASE("a panic aborts the program and reports its exception, its goroutine and the remedy") {
  struct row {
    const char* program;
    const char* report;
  };
  for (const row& each :
       {row{"panic", "[0-9]+: out of cheese\n"},
        row{"panic_named", "[0-9]+ \\[loader\\]: no such sheep\n"},
        row{"panic_in_a_bubble",
            "[0-9]+ of a bubble \\(repeat with THRUM_BUBBLE_SEED=77\\): out of time\n"},
        row{"panic_of_no_exception", ""}, row{"panic_in_a_group", ".*in a group"},
        row{"wait_in_a_destructor",
            "[0-9]+ \\[closer\\]: goroutine_exit was thrown.* destructor .*thrum::uncancellable"},
        row{"usage_error_unhandled", "[0-9]+: mutex::unlock: "}}) {
    const program_result r = run_program(each.program);
    INFO(each.program << ": " << r.text);
    CHECK(r.signal == SIGABRT);
    CHECK(support::has_match(r.text, std::string("thrum: panic in goroutine ") + each.report));
  }
}

TEST_CASE("a hundred panics at once end the program with whole lines") {
  const program_result r = run_program("panic_of_many");
  INFO(r.text);
  CHECK(r.signal == SIGABRT);
  std::istringstream lines(r.text);
  std::size_t reports = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("thrum: panic", 0) == 0) {
      ++reports;
      CHECK(support::is_match(line, "thrum: panic in goroutine [0-9]+: one of many"));
    }
  }
  CHECK(reports >= 1);
}

TEST_CASE("a panic handler, a catch around run and the result of main decide the exit status") {
  CHECK(run_program("panic_with_handler").exit_code == 0);
  CHECK(run_program("panic_with_handler").says("handled 10\n"));
  CHECK(run_program("exception_from_main").exit_code == 3);
  CHECK(run_program("exception_from_main").says("caught: from main\n"));
  CHECK(run_program("exit_status").exit_code == 42);
}

TEST_CASE("goroutines wait for a thread while blocking calls occupy all, and one line says so") {
  const program_result r = run_program("thread_limit");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("all have ended\n"));
  CHECK(r.says("thrum: go: all 5 threads of this runtime are inside blocking calls"));
  CHECK(r.text.find("options::max_threads") == r.text.rfind("options::max_threads"));
}

TEST_CASE("a stack that overflows ends the program instead of another goroutine's data") {
  if (std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // emulators accept guards that they do not install
  }
  const program_result r = run_program("stack_overflow");
  INFO(r.text);
  CHECK(r.exit_code != 0);
  CHECK((support::is_fault(r.signal) || r.signal == SIGABRT || r.exit_code == 1 ||
         r.exit_code == 66));  // the last two are what sanitizers exit with
}

TEST_CASE("THRUM_MAXPROCS reaches a program that sets no options") {
  CHECK(run_program("processors", "THRUM_MAXPROCS=3").text == "procs 3\n");
  CHECK(run_program("processors", "THRUM_MAXPROCS=1").text == "procs 1\n");
}

TEST_CASE("schedtrace prints lines in Go's format at its period", "[once]") {
  const program_result r = run_program("trace", "THRUM_MAXPROCS=2 THRUM_DEBUG=schedtrace=20");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  const std::string format =
      "SCHED ([0-9]+)ms: gomaxprocs=2 idleprocs=[0-2] threads=[0-9]+ spinningthreads=[0-9]+ "
      "idlethreads=[0-9]+ runqueue=[0-9]+ \\[[0-9]+ [0-9]+\\][ a-z=0-9/]*";
  std::istringstream lines(r.text);
  long last = -1;
  int n = 0;
  for (std::string line; std::getline(lines, line); ++n) {
    const auto times = support::groups_of_match(line, format);
    REQUIRE(times.size() == 1);
    const long now = std::stol(times[0]);
    CHECK(now >= last);
    last = now;
  }
  CHECK(n >= 2);
  CHECK(n <= 1 + last / 20);  // a period, not a flood
}

TEST_CASE("nothing is printed unless it is asked for") {
  const program_result r = run_program("trace", "THRUM_DEBUG=");
  CHECK(r.exit_code == 0);
  CHECK(r.text.empty());
}

#if !defined(_WIN32)  // the system's own functions come first there
TEST_CASE("the report of a wrong use begins at the function that did it") {
  const program_result r = run_program("panic_of_wrong_use");
  INFO(r.text);
  CHECK(r.signal == SIGABRT);
  CHECK_FALSE(r.says("_Unwind_RaiseException"));
  CHECK_FALSE(r.says("__cxa_throw"));
  CHECK_FALSE(r.says("throw_usage"));
}
#endif

TEST_CASE("the first exception that is dropped with a handle is reported in one line") {
  const program_result r = run_program("lost_exceptions");
  INFO(r.text);
  CHECK(r.exit_code == 7);
  CHECK(support::has_match(r.text,
                           "thrum: spawn: the exception that left goroutine [0-9]+ was dropped "
                           "with its join_handle: first lost "));
  CHECK_FALSE(r.says("second lost"));
  CHECK(run_program("lost_exception_of_a_detached_goroutine").says("first lost"));
  CHECK(run_program("lost_exception_of_a_coroutine")
            .says("thrum: co_spawn: the exception that left a coroutine was dropped with its "
                  "co_handle: "
                  "first lost "));
}

TEST_CASE("a runtime that is a static object ends its goroutines when the program exits") {
  const program_result r = run_program("static_destruction");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  std::size_t n = 0;
  for (std::size_t at = 0; (at = r.text.find("unwound\n", at)) != std::string::npos; ++at) {
    ++n;
  }
  CHECK(n == 10);
}

TEST_CASE("a handler of panics that waits is unwound when the runtime stops") {
  thrum::options options;
  const thrum::chan<std::exception_ptr> errors(0);
  std::atomic<int> called{0};
  options.on_panic = [&](std::exception_ptr error, thrum::goroutine_id) {
    ++called;
    errors.send(std::move(error));
  };
  {
    thrum::runtime runtime(options);
    runtime.go([] { throw std::runtime_error("nobody asks"); });
    CHECK(support::eventually([&] { return runtime.stats().waiting == 1; }));
  }
  CHECK(called == 1);
}
