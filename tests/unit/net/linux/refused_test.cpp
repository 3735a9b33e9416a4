// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets where the system refuses IPv6, or options.

#include "support/catch.hpp"
#include "support/program.hpp"

TEST_CASE("where there is no IPv6, any address is any IPv4 address") {
  const support::program_result r = support::run_program("without_ipv6");
  INFO(r.text);
  CHECK(r.exit_code == 0);
}

TEST_CASE("options that nobody asked for and the system refuses keep nobody from listening") {
  const support::program_result r = support::run_program("without_options");
  INFO(r.text);
  CHECK(r.exit_code == 0);
}
