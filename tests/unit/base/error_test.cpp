// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How errors reach the caller, messages built without malloc, and how a program ends.
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>

#include "support/catch.hpp"
#include "support/child.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

using thrum::base::message;

#if THRUM_EXCEPTIONS

TEST_CASE("a wrong use is thrown as usage_error with its text") {
  STATIC_REQUIRE(std::is_base_of_v<std::logic_error, thrum::usage_error>);
  try {
    thrum::base::throw_usage("close: the channel is closed");
    FAIL("it returned");
  } catch (const thrum::usage_error& error) {
    CHECK(std::string(error.what()) == "close: the channel is closed");
  }
}

TEST_CASE("a failed system call is thrown as system_error with its code and operation") {
  try {
    thrum::base::throw_system({ENOENT, std::system_category()}, "open");
    FAIL("it returned");
  } catch (const std::system_error& error) {
    CHECK(error.code() == std::errc::no_such_file_or_directory);
    CHECK(std::string(error.what()) == "open: " + std::system_category().message(ENOENT));
  }
}

TEST_CASE("an error of any category is thrown with its code, operation and object") {
  try {
    thrum::base::throw_system(std::make_error_code(std::errc::timed_out), "dial \"a:1\"");
    FAIL("it returned");
  } catch (const std::system_error& error) {
    CHECK(error.code() == std::errc::timed_out);
    CHECK(std::string(error.what()) ==
          "dial \"a:1\": " + std::make_error_code(std::errc::timed_out).message());
  }
}

#else

TEST_CASE("without exceptions a wrong use ends the program with its text") {
  const auto end =
      support::run_in_child([] { thrum::base::throw_usage("close: the channel is closed"); });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors == "fatal error: thrum: close: the channel is closed\n");
}

TEST_CASE("without exceptions a failed system call ends the program with the same text") {
  const auto end = support::run_in_child([] {
    thrum::base::throw_system({ENOENT, std::system_category()}, "open");
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors == "fatal error: thrum: open: No such file or directory\n");
}

TEST_CASE("without exceptions an error of any category ends the program with the same text") {
  const auto end = support::run_in_child([] {
    thrum::base::throw_system(std::make_error_code(std::errc::timed_out), "dial \"a:1\"");
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors == "fatal error: thrum: dial \"a:1\": Connection timed out\n");
}

#endif

TEST_CASE("a message joins texts and numbers in the order they are appended") {
  message<> text("goroutine ");
  text.append(42).append(": ").append(std::uint64_t{0}).append(" of ").append(-7);
  CHECK(text.view() == "goroutine 42: 0 of -7");
}

TEST_CASE("a message shows the extreme numbers in full") {
  message<> text;
  text.append(std::numeric_limits<std::uint64_t>::max()).append(" ");
  text.append(std::numeric_limits<std::int64_t>::min()).append(" ");
  text.append_hex(0xDEADBEEF);
  CHECK(text.view() == "18446744073709551615 -9223372036854775808 0xdeadbeef");
}

TEST_CASE("a message leaves out what does not fit and stays valid") {
  message<8> text("12345");
  text.append("6789").append("more");
  CHECK(text.view() == "12345678");
  text.clear();
  CHECK(text.view().empty());
}

TEST_CASE("a message quotes a text from outside: on one line, printable and short") {
  CHECK(message<>("open ").append_quoted("a b").view() == "open \"a b\"");
  CHECK(message<>().append_quoted("").view() == "\"\"");
  CHECK(message<>().append_quoted(std::string_view("a\0\n\x7f\xffz", 6)).view() == "\"a????z\"");
  CHECK(message<>().append_quoted(std::string(120, 'x')).view() ==
        '"' + std::string(120, 'x') + '"');
  CHECK(message<>().append_quoted(std::string(121, 'x')).view() ==
        '"' + std::string(120, 'x') + "...\"");
}

TEST_CASE("a fatal error writes one line to standard error and aborts") {
  const auto end = support::run_in_child([] { thrum::base::fatal("all stacks are asleep"); });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors == "fatal error: thrum: all stacks are asleep\n");
}

TEST_CASE("a fatal error of any length ends with a newline") {
  const std::string endless(5000, 'x');
  const auto end = support::run_in_child([&] { thrum::base::fatal(endless); });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.size() == 1024);
  CHECK(end.errors.back() == '\n');
}

TEST_CASE("an invariant that does not hold is reported by its name and condition") {
  const auto end =
      support::run_in_child([] { thrum::base::invariant_failed("RQ2", "tail - head <= 4"); });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors == "fatal error: thrum: invariant RQ2 does not hold: tail - head <= 4\n");
}

TEST_CASE("an assertion is evaluated only when checks are on") {
  int evaluated = 0;
  const auto holds = [&] { return ++evaluated > 0; };
  THRUM_ASSERT(ONE, holds());
  CHECK(evaluated == THRUM_CHECKS);
}

TEST_CASE("a failed assertion ends the program when checks are on and nothing otherwise") {
  const auto end = support::run_in_child([] { THRUM_ASSERT(TWO, 1 + 1 == 3); });
  CHECK(end.signal == (THRUM_CHECKS ? SIGABRT : 0));
  CHECK((end.errors.find("invariant TWO does not hold: 1 + 1 == 3") != std::string::npos) ==
        (THRUM_CHECKS == 1));
}
