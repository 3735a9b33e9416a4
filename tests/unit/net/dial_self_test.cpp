// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Dials to a port on which nobody listens.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <cstdint>
#include <system_error>

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
