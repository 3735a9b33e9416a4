// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The example programs, run as a reader would run them: what each prints, and that it exits with 0.
//
// THRUM_EXAMPLES_DIR is where they were built; without it there is nothing to run. Where programs
// need an emulator, THRUM_TEST_EMULATOR holds the words that go in front.

#include "support/catch.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/wait.h>

namespace {

struct example_result {
  int status = -1;   ///< as the shell says it; -1: it could not be started or was killed
  std::string text;  ///< standard output and standard error
};

example_result run_example(const std::string& name, unsigned procs) {
  const char* const emulator = std::getenv("THRUM_TEST_EMULATOR");
  const std::string line = "THRUM_MAXPROCS=" + std::to_string(procs) + " exec " +
                           (emulator == nullptr ? "" : emulator) + " '" THRUM_EXAMPLES_DIR "/" +
                           name + "' 2>&1";
  example_result result;
  std::FILE* const pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) {
    return result;
  }
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) != 0;) {
    result.text.append(buffer, n);
  }
  const int status = ::pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

/// On one processor, on several, and on more than any machine here has.
void check_example(const std::string& name, const std::string& expected) {
  for (const unsigned procs : {1U, 4U, 64U}) {
    INFO(name << " on " << procs << " processors");
    const example_result r = run_example(name, procs);
    CHECK(r.text == expected);
    CHECK(r.status == 0);
  }
}

}  // namespace

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

TEST_CASE("the fan-in hears both sources to their end") {
  check_example("fan_in",
                "inside:  5 values, 20.50 degrees on average\n"
                "outside: 9 values, -2.00 degrees on average\n");
}

TEST_CASE("the rate limiter lets a burst through and keeps the pace afterwards") {
  check_example("rate_limiter",
                "request 1: at once\n"
                "request 2: at once\n"
                "request 3: at once\n"
                "request 4: after a tick\n"
                "request 5: after a tick\n"
                "request 6: after a tick\n"
                "not faster than allowed\n");
}

TEST_CASE("a request with a deadline gets its answer, or gives up when it or its caller has to") {
  check_example("request_with_deadline",
                "ada: the answer is 42\n"
                "ada: no answer in time\n"
                "ada: the session is over\n");
}

#else

TEST_CASE("the examples were not built, so none is run") { SUCCEED(); }

#endif
