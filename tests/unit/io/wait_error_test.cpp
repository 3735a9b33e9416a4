// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How waiting for a foreign descriptor tells what went wrong.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/with_runtime.hpp"

#include <chrono>
#include <system_error>

TEST_CASE("wait_readable and wait_writable can say what is wrong without throwing") {
  thrum::os::handle ends[2];
  REQUIRE(thrum::os::open_pipe(ends) == 0);
  const auto check = [&] {
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    std::error_code error;
    thrum::io::wait_readable(ends[0], soon, error);
    CHECK(error == std::errc::timed_out);
    thrum::io::wait_writable(ends[1], thrum::time_point::max(), error);
    CHECK_FALSE(error);
    thrum::io::wait_readable(thrum::os::no_handle, thrum::time_point::max(), error);
    CHECK(error == std::errc::bad_file_descriptor);
    CHECK_THROWS_AS(thrum::io::wait_readable(ends[0], soon), std::system_error);
  };
  check();
  support::with_runtime(check);
  thrum::os::close(ends[0]);
  thrum::os::close(ends[1]);
}
