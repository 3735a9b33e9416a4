// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/net/udp_socket.hpp>

#include "support/test.hpp"

namespace net = thrum::net;

namespace {

/// The interface by which this machine reaches itself; 0 on systems that call it otherwise.
unsigned own_link() {
  const unsigned found = net::interface_number("lo");
  return found != 0 ? found : net::interface_number("lo0");
}

/// Whether what is sent to the group comes to its member.
bool arrives(net::udp_socket& sender, net::udp_socket& member, const net::endpoint& group) {
  std::error_code error;
  char byte = 0;
  for (int i = 0; i != 100; ++i) {
    sender.send_to("x", group, error);
    if (error) {
      return false;
    }
    member.set_read_deadline(std::chrono::steady_clock::now() + 10ms);
    if (member.recv(std::span(&byte, 1), error) == 1) {
      return true;
    }
  }
  return false;
}

}  // namespace

IN_RUNTIME("a socket gets what is sent to its group until it leaves") {
  const unsigned link = own_link();
  if (link == 0) {
    return;  // not every system lets a program see one
  }
  for (const char* const text : {"239.255.77.1:0", "[ff01::77]:0"}) {
    net::endpoint group(text);
    const bool is_v6 = group.family() == net::address_family::v6;
    std::error_code error;
    net::udp_socket member =
        net::udp_socket::bind(is_v6 ? net::endpoint("[::]:0") : net::endpoint("0.0.0.0:0"), error);
    if (error || member.local().family() != group.family()) {
      continue;  // no IPv6 here
    }
    group = group.with_port(member.local().port());
    member.join(group, link, error);
    if (error) {
      CHECK((is_v6 || support::emulated()));  // turned off for that interface, or not known
      continue;
    }
    net::udp_socket sender =
        net::udp_socket::bind(is_v6 ? net::endpoint("[::]:0") : net::endpoint("0.0.0.0:0"));
    sender.multicast_interface(link);
    sender.multicast_hops(1);
    sender.multicast_loop(true);
    INFO(text);
    CHECK((is_v6 || arrives(sender, member, group)));  // not every machine routes IPv6 groups
    CHECK(error_of([&] { member.join(group, link); }) == std::errc::address_in_use);
    member.leave(group, link);
    CHECK(error_of([&] { member.leave(group, link); }) == std::errc::address_not_available);
    member.join(group, link);
  }
}

TEST_CASE("a group that is none, and too many hops, are refused") {
  if (support::emulated()) {
    return;  // by the system, of which qemu does not tell all
  }
  with_runtime([] {
    net::udp_socket socket = net::udp_socket::bind("127.0.0.1:0");
    const std::error_code no_group = error_of([&] { socket.join(net::endpoint("127.0.0.1:0")); });
    CHECK((no_group == std::errc::invalid_argument || (THRUM_OS_WINDOWS && no_group)));
    CHECK(error_of([&] { socket.join(net::endpoint()); }) == std::errc::invalid_argument);
    CHECK(error_of([&] { socket.multicast_hops(256); }) == std::errc::invalid_argument);
    socket.close();
    CHECK(error_of([&] { socket.multicast_loop(false); }) == std::errc::operation_canceled);
    CHECK(error_of([&] { socket.multicast_interface(1); }) == std::errc::operation_canceled);
  });
}

IN_RUNTIME("several sockets share an address if all of them said so") {
  const net::udp_options shared{.reuse_address = true};
  net::udp_socket first = net::udp_socket::bind(net::endpoint("127.0.0.1:0"), shared);
  const net::endpoint where = first.local();
  CHECK(net::udp_socket::bind(where, shared).local() == where);
  CHECK(error_of([&] { net::udp_socket::bind(where); }) != std::error_code());
}
