// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of UDP, re-created from their descriptions.

#include "support/net.hpp"
#include "support/test.hpp"

using support::is_timeout;
using support::loopback;
using support::steady;
using thrum::net::endpoint;
using thrum::net::udp_socket;

IN_RUNTIME("UDPServer: a datagram comes back over IPv4 and IPv6, with the sender's address") {
  std::vector<std::string> places{"127.0.0.1:0"};
  if (support::has_ipv6()) {
    places.push_back("[::1]:0");
  }
  for (const std::string& place : places) {
    auto server = udp_socket::bind(place);
    auto client = udp_socket::connect(server.local());
    CHECK(client.remote() == server.local());
    char buffer[16];
    CHECK(client.send("hello") == 5);
    const auto got = server.recv_from(buffer);
    CHECK(got.size == 5);
    CHECK(got.from == client.local());
    CHECK_FALSE(got.cut_off);
    CHECK(server.send_to(std::string_view(buffer, got.size), got.from) == 5);
    CHECK(client.recv(buffer) == 5);
    CHECK(std::string_view(buffer, 5) == "hello");
  }
}

IN_RUNTIME("UDPZeroBytePayload: a datagram of 0 bytes is one, and takes one read") {
  auto socket = udp_socket::bind(loopback());
  for (int i = 0; i != 3; ++i) {
    CHECK(socket.send_to("", socket.local()) == 0);
    CHECK(socket.send_to("x", socket.local()) == 1);
  }
  char buffer[4];
  for (int i = 0; i != 3; ++i) {
    const auto empty = socket.recv_from(buffer);
    CHECK(empty.size == 0);
    CHECK(empty.from == socket.local());
    CHECK_FALSE(empty.cut_off);
    CHECK(socket.recv(buffer) == 1);
  }
  socket.set_read_deadline(steady::now() + 5ms);
  CHECK(is_timeout(error_of([&] { socket.recv(buffer); })));
}

IN_RUNTIME(
    "UDPZeroByteBuffer, UDPReadSizeError: what the buffer does not hold is cut off, and says so") {
  auto socket = udp_socket::bind(loopback());
  char buffer[4];
  for (const std::size_t room : {0U, 4U}) {
    socket.send_to("abcdef", socket.local());
    socket.send_to("gh", socket.local());
    const auto first = socket.recv_from(std::span<char>(buffer).first(room));
    CHECK(first.size == room);
    CHECK(first.cut_off);
    CHECK(std::string_view(buffer, room) == std::string_view("abcd").substr(0, room));
    const auto second = socket.recv_from(buffer);
    CHECK(second.size == 2);
    CHECK_FALSE(second.cut_off);
    CHECK(buffer[0] == 'g');
  }
}

IN_RUNTIME("a datagram that no packet can carry is an error, and the socket goes on") {
  auto socket = udp_socket::bind(loopback());
  const std::string large(70'000, 'x');
  CHECK(error_of([&] { socket.send_to(large, socket.local()); }) == std::errc::message_size);
  CHECK(socket.send_to("x", socket.local()) == 1);
  char buffer[4];
  CHECK(socket.recv(buffer) == 1);
}

IN_RUNTIME(
    "a connected socket gets an error while its peer has no socket, and receives afterwards") {
  endpoint where;
  {
    const auto gone =
        udp_socket::bind(support::own_loopback());  // the system gives its port to no other socket
    where = gone.local();
  }
  auto socket = udp_socket::connect(where);
  std::error_code error;
  thrum::wait_group group;
  group.go([&] {
    char buffer[4];
    error = error_of([&] { socket.recv(buffer); });
  });
  thrum::sleep_for(1ms);
  socket.send("x");
  group.wait();
  CHECK(error == std::errc::connection_refused);
  auto peer = udp_socket::bind(where);
  peer.send_to("ok", socket.local());
  char buffer[4];
  CHECK(socket.recv(buffer) == 2);
}

IN_RUNTIME("a connected socket receives from its peer only") {
  auto peer = udp_socket::bind(loopback());
  auto stranger = udp_socket::bind(loopback());
  auto socket = udp_socket::connect(peer.local());
  stranger.send_to("no", socket.local());
  peer.send_to("yes", socket.local());
  char buffer[4];
  CHECK(socket.recv(buffer) == 3);
  socket.set_read_deadline(steady::now() + 5ms);
  CHECK(is_timeout(error_of([&] { socket.recv(buffer); })));
}

IN_RUNTIME("each datagram reaches exactly one of many receivers on one socket") {
  auto server = udp_socket::bind(loopback());
  const int n = scaled(2'000, 200);
  constexpr int window = 32;  // more might not fit into the socket
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
  std::atomic<int> wrong{0};
  std::atomic<int> received{0};
  thrum::wait_group readers;
  for (int i = 0; i != 8; ++i) {
    readers.go([&] {
      for (;;) {
        int number = -1;
        std::size_t size = 0;
        const auto error =
            error_of([&] { size = server.recv(std::as_writable_bytes(std::span(&number, 1))); });
        if (error) {
          return;
        }
        if (size != sizeof number || number < 0 || number >= n) {
          ++wrong;
        } else {
          ++seen[static_cast<std::size_t>(number)];
        }
        ++received;
      }
    });
  }
  auto client = udp_socket::connect(server.local());
  for (int i = 0; i != n; ++i) {
    client.send(std::as_bytes(std::span(&i, 1)));
    if (i % window == 0) {
      CHECK(support::eventually([&] { return received > i; }));
    }
  }
  CHECK(support::eventually([&] { return received == n; }));
  server.close();
  readers.wait();
  for (const auto& times : seen) {
    wrong += times != 1;
  }
  CHECK(wrong == 0);
}

IN_RUNTIME("PacketConn: an error names the operation and the address") {
  auto socket = udp_socket::bind(loopback());
  const std::string where = socket.local().to_string();
  socket.set_read_deadline(steady::now());
  std::string text;
  char buffer[1];
  try {
    socket.recv_from(buffer);
  } catch (const std::system_error& error) {
    text = error.what();
  }
  CHECK(text.find("udp_socket::recv_from " + where) != std::string::npos);
  CHECK(error_of([&] { udp_socket::bind(socket.local()); }) == std::errc::address_in_use);
  CHECK(error_of([] { udp_socket::bind("nonsense"); }));
  CHECK(error_of([] { udp_socket::connect("127.0.0.1:99999"); }));
  CHECK(error_of([&] { socket.send("x"); }) == std::errc::destination_address_required);
}
