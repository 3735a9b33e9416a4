// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What <thrum/trace.hpp> writes, read by a reader that is not the library's: Python's json.

#include "support/folder.hpp"
#include "support/program_rows.hpp"

#include <csignal>
#include <filesystem>
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

TEST_CASE(
    "a trace of a program under load, as of a server, has each run, its cause, and what stats() "
    "counts") {
  for (const char* const program : {"under_load", "serves"}) {
    const support::folder folder;
    const std::string file = (folder / "load.json").string();
    const support::program_result r =
        support::run_file(THRUM_TRACE_PATH, program, "THRUM_TEST_TRACE=" + file);
    INFO(program << ": " << r.text);
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

TEST_CASE("THRUM_DEBUG=trace=FILE writes a trace of the whole run when the process ends") {
  for (const char* const program : {"works", "works_and_exits"}) {
    const support::folder folder;
    const std::string file = (folder / "whole.json").string();
    const support::program_result r =
        support::run_file(THRUM_TRACE_PATH, program, "THRUM_DEBUG=trace=" + file);
    INFO(program << ": " << r.text);
    CHECK(r.exit_code == 0);
    CHECK(r.text == "thrum: the trace is in " + file + "\n");
    const support::program_result checked = check_trace(file, "");
    INFO(checked.text);
    CHECK(checked.exit_code == 0);
    CHECK((checked.says(", 4 goroutines made,") || checked.says(", 5 goroutines made,") ||
           checked.text.empty()));
  }
}

TEST_CASE("a program that calls trace::start ends the trace that THRUM_DEBUG has asked for") {
  const support::folder folder;
  const std::string whole = (folder / "whole.json").string();
  const std::string own = (folder / "own.json").string();
  const support::program_result r =
      support::run_file(THRUM_TRACE_PATH, "works_and_records",
                        "THRUM_DEBUG=trace=" + whole + " THRUM_TEST_TRACE=" + own);
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.text ==
        "thrum: trace::start: ends what THRUM_DEBUG has asked for\n"
        "thrum: the trace is in " +
            whole + "\n");
  for (const std::string& each : {whole, own}) {
    CHECK(check_trace(each, "").exit_code == 0);
  }
}

TEST_CASE("THRUM_DEBUG=flight=FILE writes the record at SIGQUIT, and when a goroutine runs late") {
  for (const char* const program : {"quits", "is_late"}) {
    const support::folder folder;
    const std::string file = (folder / "flight.json").string();
    const support::program_result r =
        support::run_file(THRUM_TRACE_PATH, program,
                          "THRUM_DEBUG=late=10,flight=" + file + " THRUM_TEST_TRACE=" + file);
    INFO(program << ": " << r.text);
    CHECK(r.exit_code == 0);
    CHECK(r.says("the program went on\n"));
  }
}

TEST_CASE("a background goroutine that waits for long is not late") {
  const support::folder folder;
  const std::string file = (folder / "run.json").string();
  const support::program_result r =
      support::run_file(THRUM_TRACE_PATH, "waits_in_background",
                        "THRUM_DEBUG=late=10,flight=" + file + ".late THRUM_TEST_TRACE=" + file);
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("normal 1, background 0\n"));
}

TEST_CASE(
    "THRUM_DEBUG=flight=FILE writes the record before the report of a panic or a deadlock ends the "
    "program, "
    "and not at a good end") {
  const support::folder folder;
  const std::string file = (folder / "flight.json").string();
  support::check_programs({{"works", 0, ""}}, THRUM_TRACE_PATH);
  const support::program_result good =
      support::run_file(THRUM_TRACE_PATH, "works", "THRUM_DEBUG=flight=" + file);
  CHECK(good.text.empty());
  CHECK(!std::filesystem::exists(file));
  for (const char* const program : {"panics", "deadlocks"}) {
    const support::program_result r =
        support::run_file(THRUM_TRACE_PATH, program, "THRUM_DEBUG=flight=" + file);
    INFO(program << ": " << r.text);
    CHECK(r.says("thrum: the trace is in " + file));
    CHECK(check_trace(file, "").exit_code == 0);
  }
}

#if !THRUM_TSAN  // which reports crashes by itself

TEST_CASE("a goroutine that crashes by a signal has the trace written before the program ends") {
  struct row {
    const char* program;
    const char* debug;
    int signal;
  };
  for (const row& each : {row{"crash", "", SIGSEGV}, row{"crashes", "flight=", SIGABRT}}) {
    const support::folder folder;
    const std::string file = (folder / "end.json").string();
    const support::program_result r =
        support::run_file(THRUM_TRACE_PATH, each.program,
                          "THRUM_TEST_TRACE=" + file +
                              " THRUM_DEBUG=" + (each.debug[0] == '\0' ? "" : each.debug + file));
    INFO(r.text);
    CHECK(r.signal == each.signal);
    CHECK(r.says("fatal error: thrum: "));
    CHECK(r.says("thrum: the trace is in " + file));
    const support::program_result checked = check_trace(file, "");
    INFO(checked.text);
    CHECK(checked.exit_code == 0);
  }
}

#endif

TEST_CASE("THRUM_DEBUG says which of its words for traces it cannot follow") {
  const support::program_result other =
      support::run_program("runtime_objects", "THRUM_DEBUG=trace=a.json,flight=b.json");
  INFO(other.text);
  CHECK(other.says(
      "thrum: THRUM_DEBUG: 'trace=a.json' is ignored: the scheduler tells nothing in this build; "
      "compile every source file with -DTHRUM_TRACE=1\n"));
  CHECK(other.says("'flight=b.json' is ignored"));
  const support::program_result r = support::run_file(
      THRUM_TRACE_PATH, "works", "THRUM_DEBUG=late=soon,trace=/nowhere/at/all/x.json");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("thrum: THRUM_DEBUG: late wants milliseconds, not 'soon'; it is ignored\n"));
  CHECK(r.says("thrum: THRUM_DEBUG: trace=/nowhere/at/all/x.json: the file cannot be written: "));
}

TEST_CASE("trace::start refuses a file that cannot be written, and a second start") {
  const support::program_result r = support::run_file(THRUM_TRACE_PATH, "refusals");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("trace: the file cannot be written: "));
  CHECK(r.says("on: 0, events: 0"));
  CHECK(r.says("trace::start: the recorder is on already; call trace::stop first"));
}

TEST_CASE("a switch hook sees each goroutine enter a thread and then leave it, with its name") {
  for (const char* const program : {"hook_sees_pairs", "hook_beside_record"}) {
    const support::program_result r = support::run_file(THRUM_TRACE_PATH, program);
    INFO(program << ": " << r.text);
    CHECK(r.exit_code == 0);
    CHECK(r.text == "entered: 1, each left: 1, ended: 1, label: 1, wrong: 0\n");
  }
}

TEST_CASE("a switch hook may take a lock that a goroutine holds while it computes") {
  support::check_programs({{"hook_takes_lock", 0, ""}}, THRUM_TRACE_PATH);
}

TEST_CASE("trace::on_switch refuses a program whose first runtime is made") {
  support::check_programs({{"hook_is_late", 0,
                            "trace::on_switch: there is a runtime already; call it before the "
                            "first runtime is made\n"}},
                          THRUM_TRACE_PATH);
}

TEST_CASE("Tracy gets a fiber for each goroutine that runs, and a new one has that of an old one") {
  support::check_programs(
      {{"tracy_fibers", 0, "goroutine 1, worker 1, worker 2, worker 3, wrong: 0\n"}},
      THRUM_TRACE_PATH);
}

#ifdef THRUM_TRACE_PROBES  // there is <sys/sdt.h>

TEST_CASE("a program with THRUM_USDT=1 has a probe at each place of the recorder") {
  const support::program_result r = support::run_line("readelf -n " THRUM_TRACE_PATH);
  if (r.exit_code != 0) {
    WARN("there is no readelf: the probes are not looked for");
    return;
  }
  for (const char* const name : {"made", "runs", "leaves", "ready", "event"}) {
    CHECK(r.says("Provider: thrum\n    Name: " + std::string(name) + "\n"));
  }
}

#endif

#endif
