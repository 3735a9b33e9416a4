// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How errors reach the caller.
#include <thrum/base/error.hpp>

#include <cerrno>
#include <csignal>
#include <string>
#include <type_traits>

#include "../../support/catch.hpp"
#include "../../support/child.hpp"

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
