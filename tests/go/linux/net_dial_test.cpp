// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What go/net_dial_test.cpp cannot ask elsewhere: which ports the system gives.

#include "support/net.hpp"
#include "support/test.hpp"

#include <fstream>

using support::loopback;
using thrum::net::dial;
using thrum::net::endpoint;

TEST_CASE("a dial to a port without a listener never connects to itself", "[once]") {
  // The system gives a dial its own port; if that is the one that is dialled, the two halves of
  // one socket find each other.
  with_runtime([] {
    int low = 0;
    int high = 0;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> low >> high;
    if (low == 0) {
      WARN("the range of ports is not known here");
      return;
    }
    int connected = 0;
    // Linux prefers ports of the same parity as the first one.
    const int port = low + (high - low) / 4 * 2;
    const endpoint where = loopback().with_port(static_cast<std::uint16_t>(port));
    for (int i = 0; i != scaled((high - low) / 2 + 1'000, 1'000); ++i) {
      std::error_code error;
      dial(where, 10s, error);
      connected += !error;
    }
    CHECK(connected == 0);
  });
}
