// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/net/udp_socket.hpp>

#include "support/test.hpp"

namespace net = thrum::net;

TEST_CASE("who has left a group gets nothing, although another socket of the machine is a member") {
  if (support::emulated()) {
    return;  // qemu does not pass the option on
  }
  with_runtime([] {
    const unsigned link = net::interface_number("lo");
    const net::endpoint any("0.0.0.0:0");
    net::udp_socket first = net::udp_socket::bind(any);
    net::udp_socket second = net::udp_socket::bind(any);
    net::udp_socket sender = net::udp_socket::bind(any);
    const net::endpoint group = net::endpoint("239.255.77.2:0").with_port(first.local().port());
    std::error_code error;
    second.join(group, link, error);
    if (error) {
      return;  // turned off for that interface
    }
    first.join(group, link);
    first.leave(group, link);
    sender.multicast_interface(link);
    sender.multicast_loop(true);
    sender.send_to("g", group);
    sender.send_to("d", net::endpoint("127.0.0.1:0").with_port(first.local().port()));
    char byte = 0;
    CHECK(first.recv(std::span(&byte, 1)) == 1);
    CHECK(byte == 'd');
  });
}
