// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What <thrum/trace.hpp> writes, read by a reader that is not the library's: Python's json.

#include "support/folder.hpp"
#include "support/program_rows.hpp"

#include <csignal>
#include <string>

#ifdef THRUM_TRACE_PATH

namespace {

/// Whether Python finds nothing wrong in the file; true where there is no Python.
support::program_result check_trace(const std::string& path, const std::string& figures) {
  if (support::run_line("python3 -c \"print(6 * 7)\"").text.find("42") == std::string::npos) {
    WARN("there is no python3: the trace is not read");
    support::program_result nothing;
    nothing.exit_code = 0;
    return nothing;
  }
  return support::run_line("python3 " THRUM_TRACE_CHECK " " + path + " " + figures);
}

}  // namespace

TEST_CASE("a trace of a program under load has each run, its cause, and what stats() counts") {
  const support::folder folder;
  const std::string file = (folder / "load.json").string();
  const support::program_result r =
      support::run_file(THRUM_TRACE_PATH, "under_load", "THRUM_TEST_TRACE=" + file);
  INFO(r.text);
  REQUIRE(r.exit_code == 0);
  std::string figures = r.text;
  for (char& each : figures) {
    each = each == '\n' ? ' ' : each;
  }
  for (const std::string& each : {file, file + ".pftrace"}) {
    const support::program_result checked = check_trace(each, figures);
    INFO(checked.text);
    CHECK(checked.exit_code == 0);
  }
}

TEST_CASE(
    "the recorder keeps the last events when its memory is full, and a snapshot does not end it") {
  const support::folder folder;
  const std::string file = (folder / "flight.json").string();
  const support::program_result r =
      support::run_file(THRUM_TRACE_PATH, "flight", "THRUM_TEST_TRACE=" + file);
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("lost some: 1, wrote some: 1, went on: 1"));
  const support::program_result checked = check_trace(file, "");
  INFO(checked.text);
  CHECK(checked.exit_code == 0);
}

TEST_CASE("a program that ends by a panic or a deadlock has written its trace") {
  for (const char* const program : {"panic", "deadlock"}) {
    const support::folder folder;
    const std::string file = (folder / "end.json").string();
    const support::program_result r =
        support::run_file(THRUM_TRACE_PATH, program, "THRUM_TEST_TRACE=" + file);
    INFO(r.text);
    CHECK((r.exit_code == 2 || r.signal == SIGABRT));
    CHECK(r.says("thrum: the trace is in " + file));
    const support::program_result checked = check_trace(file, "");
    INFO(checked.text);
    CHECK(checked.exit_code == 0);
  }
}

TEST_CASE("trace::start refuses a file that cannot be written, and a second start") {
  const support::program_result r = support::run_file(THRUM_TRACE_PATH, "refusals");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("trace: the file cannot be written: "));
  CHECK(r.says("on: 0, events: 0"));
  CHECK(r.says("trace::start: the recorder is on already; call trace::stop first"));
}

#endif
