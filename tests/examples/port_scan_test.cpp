// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/port_scan.

#include "support/test.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "clients.hpp"

#include <algorithm>
#include <string>

namespace examples { namespace {

TEST_CASE("the port scan finds the ports that have a listener") {
  const auto listener = thrum::net::listener::listen("127.0.0.1:0");
  const std::string port = std::to_string(listener.local().port());
  const auto alone = run_line(example_line("port_scan", port + " " + port));
  CHECK(alone.text == port + "\n");
  CHECK(alone.exit_code == 0);
  const unsigned middle = listener.local().port();
  // Few neighbours: each is dialled, and may be a port of a test that runs beside.
  const auto some =
      run_line(example_line("port_scan", std::to_string(middle - 5) + " " +
                                             std::to_string(std::min(middle + 5, 65535U))));
  CHECK(("\n" + some.text).find("\n" + port + "\n") != std::string::npos);
  CHECK(run_line(example_line("port_scan", "0")).exit_code == 2);
  CHECK(run_line(example_line("port_scan", "2 1")).exit_code == 2);
  CHECK(run_line(example_line("port_scan", "1 70000")).exit_code == 2);
}

}}  // namespace examples

#endif
