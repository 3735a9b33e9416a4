// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets where the system refuses IPv6, options, or memory: in programs of their own.

#include "support/program_rows.hpp"

TEST_CASE(
    "where the system refuses IPv6, options or memory, sockets do without and none stays open") {
  // Any address is any IPv4 address; options of the library's own keep nobody from listening; there is
  // an error_code.
  support::check_programs(
      {{"without_ipv6", 0}, {"without_options", 0}, {"descriptors_without_memory", 0}});
}
