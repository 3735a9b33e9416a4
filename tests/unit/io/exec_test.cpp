// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/exec.hpp>

#include "support/children.hpp"
#include "support/commands.hpp"
#include "support/test.hpp"

using support::trimmed;
namespace io = thrum::io;

TEST_CASE("exec returns the status, the output and the error output of a program") {
  const auto check = [] {
    const io::exec_result both = io::exec(support::words_that_do_both("said", "complained"));
    CHECK(both.status.success());
    CHECK(trimmed(both.output) == "said");
    CHECK(trimmed(both.errors) == "complained");
    CHECK(io::exec(support::words_that_exit(7)).status.code == 7);
    CHECK(trimmed(io::exec(support::words_that_answer(), {.input = "question\n"}).output) ==
          "question");
    const io::exec_result joined =
        io::exec(support::words_that_complain("one stream"), {.errors_to_output = true});
    CHECK(trimmed(joined.output) == "one stream");
    CHECK(joined.errors.empty());
  };
  check();  // on a thread
  with_runtime(check);
}

TEST_CASE("exec of what is no program fails, and names it") {
  if (support::emulated()) {
    return;  // qemu makes a fork of vfork, whose failure nobody hears of
  }
  with_runtime([] {
    std::error_code error;
    const io::exec_result none = io::exec({"no-such-program-here"}, {}, error);
    CHECK(error == std::errc::no_such_file_or_directory);
    CHECK(none.status.code == io::exit_status::none);
    io::exec({}, {}, error);
    CHECK(error == std::errc::invalid_argument);
    std::string text;
    try {
      io::exec({"no-such-program-here", "argument"});
    } catch (const std::system_error& failed) {
      text = failed.what();
    }
    CHECK(text.find("exec no-such-program-here argument") != std::string::npos);
  });
}

TEST_CASE("exec ends a program at its deadline, and says so") {
  const auto check = [] {
    std::error_code error;
    const auto begin = std::chrono::steady_clock::now();
    io::exec_options how;
    how.deadline = begin + 20ms;
    how.grace = 20ms;
    how.input = "";
    // What has no input ends at once; so it is given one that does not end.
    io::process p = io::process::spawn(support::words_that_wait(), {.in = io::redirect::pipe()});
    const io::exit_status status = p.wait_or_stop(how.deadline, how.grace, error);
    CHECK(error == thrum::errc::deadline_exceeded);
    CHECK_FALSE(status.success());
    CHECK(std::chrono::steady_clock::now() - begin >= 20ms);
    CHECK(p.stop(1ms) == status);  // it has ended
  };
  check();
  with_runtime(check);
}

#if !THRUM_OS_WINDOWS  // whose shell keeps nobody in the background
IN_RUNTIME(
    "exec hears what a program leaves behind for a grace that is longer than can be counted") {
  const io::exec_result result = io::exec({"sh", "-c", "{ sleep 0.2; echo late; } & echo early"},
                                          {.deadline = std::chrono::steady_clock::now() + 1h,
                                           .grace = std::chrono::nanoseconds::max()});
  CHECK(result.output == "early\nlate\n");
}
#endif

IN_RUNTIME("exec of a program that writes more than is wanted ends it") {
  std::error_code error;
  const io::exec_result r =
      io::exec(support::words_that_say("0123456789"), {.most_output = 4}, error);
  CHECK(error == std::errc::message_size);
  CHECK(r.output == "0123");
}

TEST_CASE("exec ends a program at a stop, and starts none after it") {
  const auto check = [] {
    std::error_code error;
    CHECK(io::exec(support::words_that_exit(0), {}, thrum::context(), error).status.success());
    CHECK_FALSE(error);
    const io::exec_result said =
        io::exec(support::words_that_say("text"), {.input = "not read"}, std::stop_token());
    CHECK(support::trimmed(said.output) == "text");
    std::stop_source stop;
    stop.request_stop();
    const io::exec_result none =
        io::exec(support::words_that_say("text"), {}, stop.get_token(), error);
    CHECK(error == std::errc::operation_canceled);
    CHECK(none.status.code == io::exit_status::none);
    CHECK(none.output.empty());
    const auto call = [&] { io::exec(support::words_that_exit(0), {}, stop.get_token()); };
    CHECK(error_of(call) == std::errc::operation_canceled);
  };
  check();
  with_runtime(check);
}
