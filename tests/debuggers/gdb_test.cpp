// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What gdb shows of goroutines with tools/gdb/thrum-gdb.py; see programs/debugger.cpp for the
// program that it looks at. Nothing is asked where gdb is missing or cannot look into a program.

#include "support/patterns.hpp"
#include "support/program.hpp"
#include "support/test.hpp"

#include <filesystem>
#include <initializer_list>

#include <unistd.h>

using support::program_result;
using support::run_line;

namespace {

/// Answers of gdb to commands, each a word for the shell: on what is written in `on`.
program_result ask_gdb(std::initializer_list<const char*> commands, const std::string& on) {
  // One arena and small stacks, or a core file has hundreds of megabytes.
  std::string line =
      "ulimit -s 1024; MALLOC_ARENA_MAX=1 THRUM_DEBUG= gdb -nx -batch "
      "-iex 'set debuginfod enabled off' -x '" THRUM_GDB_SCRIPT "'";
  for (const char* const command : commands) {
    line.append(" -ex '").append(command).append("'");
  }
  return run_line(line + " " + on);
}

const std::string live = "--args '" THRUM_PROGRAMS_PATH "' debugger";

/// Why gdb cannot be asked; empty: it can.
std::string why_no_gdb() {
  if (THRUM_ASAN || THRUM_TSAN) {
    return "sanitizers and debuggers get in each other's way";
  }
  if (std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return "an emulator is between gdb and the program";
  }
  if (!run_line("gdb -nx -batch -ex 'python print(6 * 7)'").says("42")) {
    return "there is no gdb with Python";
  }
  if (!ask_gdb({"starti", "info threads"}, "--args true").says("* 1 ")) {
    return "gdb may not trace programs here";
  }
  return "";
}

bool has_gdb() {
  static const std::string why_not = why_no_gdb();
  if (!why_not.empty()) {
    WARN("skipped: " << why_not);
  }
  return why_not.empty();
}

/// The part of `goroutine all bt` about the goroutine of that name.
std::string backtrace_of(const std::string& name, const std::string& text) {
  const std::string quoted = "\"" + name + "\"";
  for (std::size_t from = text.find(quoted); from != std::string::npos;
       from = text.find(quoted, from + 1)) {
    if (text.find(":\n", from) < text.find('\n', from)) {  // not of the list
      return text.substr(from, text.find("\n\n", from) - from);
    }
  }
  return "";
}

void check_listing(const std::string& text) {
  const auto lists = [&](const std::string& line) { return support::has_match(text, line); };
  const std::string starter = " started in .*debugger\\(\\)";
  CHECK(lists("\\* goroutine [0-9]+ \\[running, thread [0-9]+\\]" + starter));
  CHECK(lists("  goroutine [0-9]+ \\[chan receive\\] \"receiver\"" + starter));
  CHECK(lists("  goroutine [0-9]+ \\[mutex lock\\] \"locker\"" + starter));
  CHECK(lists("  goroutine [0-9]+ \\[sleep\\] \"sleeper\" \\{tenant=a, request=17\\}" + starter));
  CHECK(lists("  goroutine [0-9]+ \\[syscall, thread [0-9]+\\] \"caller\"" + starter));
}

void check_backtraces(const std::string& text) {
  const auto goes_through = [&](const std::string& name, const std::string& function) {
    const std::string frames = backtrace_of(name, text);
    return frames.find(function) != std::string::npos &&
           frames.find("thrum_goroutine_entry") != std::string::npos;
  };
  CHECK(goes_through("receiver", "receives_from_a_channel"));
  CHECK(goes_through("locker", "locks_a_mutex"));
  CHECK(goes_through("sleeper", "sleeps_for_an_hour"));
  CHECK(goes_through("caller", "waits_in_the_kernel"));
  CHECK(backtrace_of("receiver", text).find("sleeps_for_an_hour") == std::string::npos);
  CHECK(backtrace_of("receiver", text).find("#0 ") ==
        std::string::npos);  // that frame is not its own
}

}  // namespace

TEST_CASE("gdb lists the goroutines of a live program and shows the frames of each", "[once]") {
  if (!has_gdb()) {
    return;
  }
  const program_result r = ask_gdb({"run", "info goroutines", "goroutine all bt"}, live);
  INFO(r.text);
  check_listing(r.text);
  check_backtraces(r.text);
}

TEST_CASE("before a runtime is started gdb says that none has been", "[once]") {
  if (!has_gdb()) {
    return;
  }
  const program_result r = ask_gdb({"break main", "run", "info goroutines"}, live);
  INFO(r.text);
  CHECK(r.says("No runtime was found: none has been started yet"));
}

TEST_CASE("gdb tells a program without debug information from one with line numbers only",
          "[once]") {
  if (!has_gdb()) {
    return;
  }
  const std::string program =
      (std::filesystem::temp_directory_path() / ("thrum_gdb_test_a." + std::to_string(::getpid())))
          .string();
  const auto asked_with = [&](const std::string& flag) {
    const program_result made =
        run_line("echo 'int main() {}' | c++ " + flag + " -x c++ - -o '" + program + "'");
    if (made.exit_code != 0) {
      WARN("skipped: no compiler: " << made.text);
      return std::string();
    }
    const program_result r = ask_gdb({"break main", "run", "info goroutines"}, program);
    std::filesystem::remove(program);
    return r.text.substr(std::min(r.text.find("No runtime"), r.text.size()));
  };
  const std::string lines_only = asked_with("-g1");
  const std::string nothing = asked_with("-g0");
  CHECK((lines_only.empty() || lines_only.find("as -g1 leaves it") != std::string::npos));
  CHECK((nothing.empty() || nothing.find("no debug information") != std::string::npos));
}

TEST_CASE("gdb lists the goroutines in a core file and shows the frames of each", "[once]") {
  if (!has_gdb()) {
    return;
  }
  const std::string core =
      (std::filesystem::temp_directory_path() / ("thrum_gdb_test." + std::to_string(::getpid())))
          .string();
  const std::string write = "generate-core-file " + core;
  const program_result written = ask_gdb({"run", write.c_str()}, live);
  const program_result r =
      ask_gdb({"info goroutines", "goroutine all bt"}, "'" THRUM_PROGRAMS_PATH "' " + core);
  std::filesystem::remove(core);
  INFO(written.text);
  INFO(r.text);
  check_listing(r.text);
  check_backtraces(r.text);
}

TEST_CASE(
    "gdb shows the frames of a goroutine that crashed and of one that computes in a core file",
    "[once]") {
  if (!has_gdb()) {
    return;
  }
  const std::string core =
      (std::filesystem::temp_directory_path() / ("thrum_gdb_test_c." + std::to_string(::getpid())))
          .string();
  const std::string write = "generate-core-file " + core;
  const std::string program = "'" THRUM_PROGRAMS_PATH "'";
  const program_result written =
      ask_gdb({"run", write.c_str()}, "--args " + program + " debugger_of_a_crash");
  const program_result r = ask_gdb({"info goroutines", "goroutine all bt"}, program + " " + core);
  std::filesystem::remove(core);
  INFO(written.text);
  INFO(r.text);
  // The monitor may have taken their processor while gdb held the program.
  const std::string state = " \\[(running|syscall|preempted), thread [0-9]+\\] ";
  CHECK(support::has_match(r.text, "\\* goroutine 1" + state + "started in "));
  CHECK(support::has_match(r.text, "  goroutine [0-9]+" + state + "\"computer\""));
  const std::size_t crashed = r.text.find("\ngoroutine 1 [");
  REQUIRE(crashed != std::string::npos);
  CHECK(r.text.find("writes_where_nothing_is", crashed) < r.text.find("\n\n", crashed));
  CHECK(backtrace_of("computer", r.text).find("computes_for_ever") != std::string::npos);
  CHECK(backtrace_of("computer", r.text).find("thrum_goroutine_entry") != std::string::npos);
  CHECK(backtrace_of("sleeper", r.text).find("sleeps_for_an_hour") != std::string::npos);
}

TEST_CASE("gdb's commands are about the goroutine that is selected until the program goes on",
          "[once]") {
  if (!has_gdb()) {
    return;
  }
  const program_result r = ask_gdb(
      {"run", "goroutine sleeper", "info goroutines", "echo FIRST\\n", "bt", "echo SECOND\\n",
       "goroutine none", "bt", "echo THIRD\\n", "goroutine locker", "signal 0", "bt"},
      live);
  INFO(r.text);
  const std::size_t first = r.text.find("FIRST\n");
  const std::size_t second = r.text.find("SECOND\n");
  const std::size_t third = r.text.find("THIRD\n");
  REQUIRE(third != std::string::npos);
  CHECK(support::has_match(r.text, "\\* goroutine [0-9]+ \\[sleep\\] \"sleeper\""));
  const std::string selected = r.text.substr(first, second - first);
  CHECK(selected.find("sleeps_for_an_hour") != std::string::npos);
  CHECK(selected.find("stops_for_the_debugger") == std::string::npos);
  const std::string thread = r.text.substr(second, third - second);
  CHECK(thread.find("sleeps_for_an_hour") == std::string::npos);
  CHECK(thread.find("stops_for_the_debugger") != std::string::npos);
  const std::string gone_on = r.text.substr(third);
  CHECK(gone_on.find("locks_a_mutex") == std::string::npos);
  CHECK(gone_on.find("stops_for_the_debugger") != std::string::npos);
}
