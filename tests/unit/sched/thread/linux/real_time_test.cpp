// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where this process may not enter a real-time class, the programs say so and nothing is asked.

#include <thrum/detail/base/config.hpp>

#include "support/catch.hpp"
#include "support/program.hpp"

#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>

namespace {

/// Emulators and sanitizers have threads of their own, and take their time.
bool real_time_is_ours() {
  return std::getenv("THRUM_TEST_EMULATOR") == nullptr && !THRUM_ASAN && !THRUM_TSAN;
}

std::size_t count_in(const std::string& text, const std::string& words) {
  std::size_t n = 0;
  for (std::size_t at = text.find(words); at != text.npos; at = text.find(words, at + 1)) {
    ++n;
  }
  return n;
}

}  // namespace

TEST_CASE("in a real-time class on one CPU loops are interrupted, and a search lets others run",
          "[once]") {
  if (!real_time_is_ours()) {
    return;
  }
  for (const auto& [program, text] :
       {std::pair("real_time_loop", "the loops were interrupted\n"),
        std::pair("real_time_search", "all found\n")}) {  // the thread with the work
    const support::program_result r = support::run_program(program);
    INFO(r.text);
    CHECK((r.text == text || r.text == "not allowed\n"));
  }
}

TEST_CASE("in a real-time class monitor and creator run one priority above the other threads",
          "[once]") {
  if (!real_time_is_ours()) {
    return;
  }
  const support::program_result r = support::run_program("real_time_priorities");
  INFO(r.text);
  if (r.text == "not allowed\n") {
    return;
  }
  CHECK(r.says("thrum/sysmon: 11\n"));
  CHECK(r.says("thrum/creator: 11\n"));
  CHECK(r.says("thread of a goroutine: 10\n"));
  CHECK(r.says("thrum_programs: 10\n"));
}

TEST_CASE("a monitor that may not have a higher priority says so once", "[once]") {
  if (!real_time_is_ours()) {
    return;
  }
  const support::program_result r = support::run_program("real_time_without_permission");
  INFO(r.text);
  if (r.says("not allowed")) {
    return;
  }
  CHECK(r.exit_code == 0);
  CHECK(count_in(r.text, "the system refuses a higher one for the runtime's monitor") == 1);
  CHECK(r.says("RLIMIT_RTPRIO"));
}
