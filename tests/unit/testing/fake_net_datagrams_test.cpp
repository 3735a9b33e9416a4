// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Datagrams in a fake net.

#include <thrum/testing/fake_net.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/error_of.hpp"
#include "support/fake_pair.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using namespace std::chrono_literals;
namespace net = thrum::net;
using support::error_of;
using support::passed_since;
using thrum::testing::bubble;
using thrum::testing::fake_net;

namespace {

/// Which of 0 to n-1 arrive, in which order.
std::vector<int> arrived_of(int n, const thrum::testing::fake_link& link, std::uint64_t seed) {
  return bubble({.seed = seed}, [&] {
    const fake_net network({.link = link});
    net::udp_socket server = net::udp_socket::bind("10.0.0.1:53");
    net::udp_socket client = net::udp_socket::connect("10.0.0.1:53");
    for (int i = 0; i != n; ++i) {
      client.send(std::to_string(i));
      thrum::sleep_for(1ms);
    }
    server.set_read_deadline(thrum::testing::now() + 1min);
    std::vector<int> all;
    for (std::error_code error;;) {
      char buffer[16];
      const std::size_t size = server.recv(buffer, error);
      if (error) {
        return all;
      }
      all.push_back(std::stoi(std::string(buffer, size)));
    }
  });
}

}  // namespace

TEST_CASE(
    "datagrams in a fake net arrive whole, cut off where the buffer is small, from their sender") {
  bubble([] {
    const fake_net network({.link = {.latency = 30ms}});
    net::udp_socket server = net::udp_socket::bind("10.0.0.1:53");
    net::udp_socket client = net::udp_socket::connect("10.0.0.1:53");
    CHECK(client.remote() == server.local());
    const auto begin = thrum::testing::now();
    CHECK(client.send("question") == 8);
    CHECK(passed_since(begin) == 0s);
    char buffer[4];
    const net::udp_socket::datagram got = server.recv_from(buffer);
    CHECK(passed_since(begin) == 30ms);
    CHECK(got.size == 4);
    CHECK(got.cut_off);
    CHECK(got.from == client.local());
    server.send_to("a", got.from);
    server.send_to("", got.from);
    CHECK(client.recv(buffer) == 1);
    CHECK(client.recv(buffer) == 0);
    net::udp_socket stranger = net::udp_socket::bind(":0");
    stranger.send_to("x", client.local());
    client.set_read_deadline(thrum::testing::now() + 1s);
    CHECK(error_of([&] { client.recv(buffer); }) == thrum::errc::deadline_exceeded);
    CHECK(error_of([&] { stranger.send("x"); }) == std::errc::destination_address_required);
    const std::string much(65'508, 'x');
    CHECK(error_of([&] { client.send(much); }) == std::errc::message_size);
    client.set_write_deadline(thrum::testing::now());
    CHECK(error_of([&] { client.send("x"); }) == thrum::errc::deadline_exceeded);
    client.close();
    CHECK(error_of([&] { client.send("x"); }) == std::errc::operation_canceled);
    CHECK(error_of([&] { client.recv(buffer); }) == std::errc::operation_canceled);
  });
}

TEST_CASE("several datagrams in a fake net are sent and received by one call") {
  bubble([] {
    const fake_net network;
    net::udp_socket server = net::udp_socket::bind("10.0.0.1:53");
    net::udp_socket client = net::udp_socket::connect("10.0.0.1:53");
    const std::string_view texts[] = {"a", "bc"};
    const net::udp_socket::outgoing out[] = {{std::as_bytes(std::span(texts[0]))},
                                             {std::as_bytes(std::span(texts[1]))}};
    CHECK(client.send_many(out) == 2);
    std::byte room[3][8];
    net::udp_socket::incoming in[] = {{room[0]}, {room[1]}, {room[2]}};
    CHECK(server.recv_many(in) == 2);
    CHECK(in[0].result.size == 1);
    CHECK(in[1].result.size == 2);
    CHECK(in[1].result.from == client.local());
    server.close();
    CHECK(error_of([&] { server.recv_many(in); }) == std::errc::operation_canceled);
  });
}

TEST_CASE("datagrams in a fake net are lost, doubled and reordered as its link says, by its seed") {
  const int n = 500;
  std::vector<int> in_order(n);
  for (int i = 0; i != n; ++i) {
    in_order[static_cast<std::size_t>(i)] = i;
  }
  CHECK(arrived_of(n, {.latency = 5ms}, 1) == in_order);
  CHECK(arrived_of(n, {.loss = 1}, 1).empty());

  const std::vector<int> lossy = arrived_of(n, {.loss = 0.5}, 1);
  CHECK(lossy.size() > n / 4);
  CHECK(lossy.size() < 3 * n / 4);
  CHECK(lossy == arrived_of(n, {.loss = 0.5}, 1));
  CHECK(lossy != arrived_of(n, {.loss = 0.5}, 2));

  CHECK(arrived_of(n, {.duplicate = 0.5}, 1).size() > 5 * n / 4);

  const std::vector<int> mixed = arrived_of(n, {.reorder = 0.2, .reorder_by = 5ms}, 1);
  CHECK(mixed.size() == n);
  CHECK(mixed != in_order);
  const std::vector<int> jittered = arrived_of(n, {.jitter = 50ms}, 1);
  CHECK(std::set<int>(jittered.begin(), jittered.end()).size() == n);
  CHECK(jittered != in_order);
}

TEST_CASE(
    "a datagram in a fake net goes to who is bound when it arrives, and is lost with its link") {
  bubble([] {
    fake_net network({.link = {.latency = 10ms}});
    net::udp_socket client = net::udp_socket::bind(":0");
    const net::endpoint there("10.0.0.1:53");
    client.send_to("early", there);
    net::udp_socket server = net::udp_socket::bind(there);
    char buffer[16];
    CHECK(server.recv(buffer) == 5);
    client.send_to("lost", there);
    network.cut("localhost", "10.0.0.1");
    network.heal();
    client.send_to("x", there);
    CHECK(server.recv(buffer) == 1);
    CHECK(network.stats().lost == 1);
  });
}
