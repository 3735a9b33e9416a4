// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The example programs, run as a reader would run them: what each prints, and that it exits with 0.
//
// THRUM_EXAMPLES_DIR is where they were built; without it there is nothing to run. Where programs
// need an emulator, THRUM_TEST_EMULATOR holds the words that go in front.

#include "support/catch.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include "support/program.hpp"
#include "support/server_process.hpp"

#include <sstream>
#include <string>

namespace examples { namespace {

/// On one processor, on several, and on more than any machine here has.
void check_example(const std::string& name, const std::string& expected) {
  for (const char* const procs : {"1", "4", "64"}) {
    INFO(name << " on " << procs << " processors");
    const auto result =
        support::run_file(support::example_path(name), "", std::string("THRUM_MAXPROCS=") + procs);
    CHECK(result.text == expected);
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("the pipeline squares odd numbers in their order") {
  check_example("pipeline",
                "1 squared is 1\n"
                "3 squared is 9\n"
                "5 squared is 25\n"
                "7 squared is 49\n"
                "9 squared is 81\n");
}

TEST_CASE("the worker pool does every job once") {
  check_example("worker_pool",
                "job 0: 8 steps\n"
                "job 1: 111 steps\n"
                "job 2: 118 steps\n"
                "job 3: 178 steps\n"
                "job 4: 261 steps\n"
                "job 5: 350 steps\n");
}

TEST_CASE("the merge sort sorts all numbers") {
  check_example("merge_sort", "sorted, smallest 0, sum 2147478263136480\n");
}

TEST_CASE("the fan-in hears both sources to their end") {
  check_example("fan_in",
                "inside:  5 values, 20.50 degrees on average\n"
                "outside: 9 values, -2.00 degrees on average\n");
}

TEST_CASE("the rate limiter keeps the pace behind the burst, by the clock") {
  const auto result = support::run_file(support::example_path("rate_limiter"), "");
  CHECK(result.exit_code == 0);
  std::istringstream lines(result.text);
  int requests = 0;
  std::string word;
  for (int number = 0, ticks = 0;
       lines >> word >> number >> word >> word >> ticks >> word && requests != 6; ++requests) {
    CHECK(ticks >= number - 3);
  }
  CHECK(requests == 6);
}

TEST_CASE("hello prints what each goroutine sends, in any order") {
  const auto result = support::run_file(support::example_path("hello"), "", "");
  CHECK(result.exit_code == 0);
  for (const char* const name : {"Ada", "Grace", "Barbara"}) {
    CHECK(result.says(std::string("hello from ") + name + "\n"));
  }
}

TEST_CASE("commands that run side by side are printed in their order, and a failure is reported") {
  const auto result = support::run_file(support::example_path("run_commands"),
                                        R"("echo one" "exit 3" "echo two")", "");
  CHECK(result.exit_code == 1);
  CHECK(result.text == "$ echo one\none\n$ exit 3\n(it has failed)\n$ echo two\ntwo\n");
}

TEST_CASE("a request with a deadline gets its answer, or gives up when it or its caller has to") {
  check_example("request_with_deadline",
                "ada: the answer is 42\n"
                "ada: no answer in time\n"
                "ada: the session is over\n");
}

}}  // namespace examples

#endif
