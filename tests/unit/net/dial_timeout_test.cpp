// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Time-outs of dial in all units that <chrono> has.

#include "support/net.hpp"
#include "support/test.hpp"

#include <ratio>

using thrum::net::dial;
using thrum::net::listener;

IN_RUNTIME("dial takes a time-out of any unit, and one too long to count is none") {
  const listener quiet = listener::listen(support::loopback());
  const std::string text = quiet.local().to_string();
  const auto check = [&](auto timeout) {
    std::error_code error;
    CHECK(dial(quiet.local(), timeout, error));
    CHECK_FALSE(error);
    CHECK(dial(text, timeout, error));
    CHECK_FALSE(error);
    CHECK(dial(quiet.local(), timeout));
    CHECK(dial(text, timeout));
    CHECK(dial(text.c_str(), timeout));
  };
  check(std::chrono::hours::max());
  check(std::chrono::seconds::max());
  check(std::chrono::nanoseconds::max());
  check(std::chrono::duration<double, std::ratio<86400>>(1e300));
  check(100.5s);
  check(std::chrono::duration<std::uint64_t>(100));
  check(0ms);
  check(0.0s);
  std::error_code error;
  CHECK(dial(quiet.local(), {}, error));
  CHECK(dial(text, {}, error));
}

IN_RUNTIME("a time-out of dial that is below 0 has passed, however little it is below") {
  const support::black_hole nobody;
  const auto check = [&](auto timeout) {
    std::error_code error;
    dial(nobody.where(), timeout, error);
    CHECK(error == std::errc::timed_out);
  };
  check(std::chrono::hours::min());
  check(std::chrono::nanoseconds::min());
  check(-1h);
  check(-1e-12s);
}

IN_RUNTIME("intervals of keep_alive that no system has are refused, not cut") {
  auto pair = support::tcp_pair();
  std::error_code error;
  pair.client.keep_alive({.idle = std::chrono::seconds((std::int64_t{1} << 32) + 15)}, error);
  CHECK(error == std::errc::invalid_argument);
  pair.client.keep_alive({.interval = std::chrono::seconds::max()}, error);
  CHECK(error == std::errc::invalid_argument);
}

TEST_CASE("a dial to a port on which nobody listens never connects to itself", "[once]") {
  support::with_runtime([] {
    // The system chooses ports of one parity for connections, and of the other for listeners;
    // within 14,000 tries it comes to each.
    const int tries = support::scaled(40'000);
    const std::uint16_t port =
        static_cast<std::uint16_t>(thrum::net::listener::listen("127.0.0.1:0").local().port() ^ 1U);
    const auto where = thrum::net::endpoint::v4(0x7f000001, port);
    int with_itself = 0;
    for (int i = 0; i != tries; ++i) {
      std::error_code error;
      const thrum::net::conn c = thrum::net::dial(where, {}, error);
      with_itself += !error && c.local() == c.remote() ? 1 : 0;
    }
    CHECK(with_itself == 0);
  });
}
