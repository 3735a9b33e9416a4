// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets on any address of the machine.

#include <thrum/detail/os/socket_types.hpp>
#include <thrum/net/host_port.hpp>

#include "support/net.hpp"
#include "support/test.hpp"

using namespace std::string_view_literals;
using thrum::net::endpoint;
using thrum::net::endpoint_error;
using thrum::net::host_port;
using thrum::net::split_host_port;
using thrum::net::udp_socket;

TEST_CASE("a text is cut at its colon, and brackets are taken off") {
  struct {
    std::string_view text, host, service;
  } const cases[] = {
      {"localhost:80", "localhost", "80"},
      {"example.org:https", "example.org", "https"},
      {"127.0.0.1:0", "127.0.0.1", "0"},
      {"[::1]:80", "::1", "80"},
      {"[fe80::1%eth0]:80", "fe80::1%eth0", "80"},
      {":80", "", "80"},
      {"a b:c d", "a b", "c d"},
  };
  for (const auto& [text, host, service] : cases) {
    INFO("text: " << text);
    std::error_code error = endpoint_error::no_port;
    const host_port parts = split_host_port(text, error);
    CHECK_FALSE(error);
    CHECK(parts.host == host);
    CHECK(parts.service == service);
    CHECK(split_host_port(text).host == host);
  }
}

TEST_CASE("a text of another form is refused with its reason and gives empty parts") {
  const std::pair<std::string_view, endpoint_error> cases[] = {
      {"", endpoint_error::no_port},
      {"localhost", endpoint_error::no_port},
      {"localhost:", endpoint_error::no_port},
      {"[::1]", endpoint_error::no_port},
      {"[::1]:", endpoint_error::no_port},
      {"::1", endpoint_error::no_brackets},
      {"a:b:c", endpoint_error::no_brackets},
      {"[::1]:a:b", endpoint_error::no_brackets},
      {"[", endpoint_error::bad_brackets},
      {"[]:80", endpoint_error::bad_brackets},
      {"[localhost]:80", endpoint_error::bad_brackets},
      {"[::1]80", endpoint_error::bad_brackets},
      {"[[::1]:80", endpoint_error::bad_brackets},
      {"a]:80", endpoint_error::bad_brackets},
      {"a[:80", endpoint_error::bad_brackets},
      {"a:8]0", endpoint_error::bad_brackets},
  };
  for (const auto& [text, reason] : cases) {
    INFO("text: " << text);
    std::error_code error;
    const host_port parts = split_host_port(text, error);
    CHECK(error == reason);
    CHECK(parts.host.empty());
    CHECK(parts.service.empty());
  }
  try {
    split_host_port("localhost");
    FAIL("it returned");
  } catch (const std::system_error& error) {
    CHECK(error.code() == endpoint_error::no_port);
    CHECK(
        std::string(error.what()).rfind("split_host_port \"localhost\": the port is missing", 0) ==
        0);
  }
}

TEST_CASE("a port is a decimal number from 0 to 65535 and nothing else") {
  using thrum::net::port_number;
  CHECK(port_number("0") == 0);
  CHECK(port_number("80") == 80);
  CHECK(port_number("65535") == 65535);
  CHECK(port_number("00080") == 80);
  for (const std::string_view text : {""sv, "65536"sv, "-1"sv, "+1"sv, " 1"sv, "1 "sv, "0x1"sv,
                                      "1e1"sv, "http"sv, "1\0"sv, "18446744073709551617"sv}) {
    INFO("text: " << text);
    CHECK_FALSE(port_number(text));
  }
}

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
