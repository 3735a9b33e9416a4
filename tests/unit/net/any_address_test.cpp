// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets on any address of the machine.

#include "support/test.hpp"

#include <thrum/detail/os/socket_types.hpp>

#include "support/net.hpp"

using thrum::net::endpoint;
using thrum::net::udp_socket;

IN_RUNTIME("a datagram socket on any address receives over IPv4, and answers") {
  auto any = udp_socket::bind(":0");
  auto sender = udp_socket::bind("127.0.0.1:0");
  any.set_deadline(support::steady::now() + support::long_time);
  sender.set_deadline(support::steady::now() + support::long_time);
  sender.send_to("x", endpoint::v4(0x7f000001, any.local().port()));
  char buffer[4];
  const udp_socket::datagram came = any.recv_from(buffer);
  CHECK(came.size == 1);
  CHECK(came.from.unmapped() == sender.local());
  any.send_to("yy", came.from);
  CHECK(sender.recv(buffer) == 2);
  any.send_to("zzz", sender.local());
  CHECK(sender.recv(buffer) == 3);
}

TEST_CASE("datagram sockets may broadcast") {
  const auto may_broadcast = [](const udp_socket& s) {
    return thrum::os::get_option(s.native_handle(), SOL_SOCKET, SO_BROADCAST) > 0;
  };
  CHECK(may_broadcast(udp_socket::bind("0.0.0.0:0")));
  CHECK(may_broadcast(udp_socket::bind(":0")));
  CHECK(may_broadcast(udp_socket::connect("255.255.255.255:9")));
}
