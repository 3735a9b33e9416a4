// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Texts as datagrams, and many at once.

#include "support/net.hpp"
#include "support/test.hpp"

using thrum::net::endpoint;
using thrum::net::udp_socket;

IN_RUNTIME("texts can be sent, received and bound to without exceptions") {
  std::error_code error;
  auto receiver = udp_socket::bind("127.0.0.1:0", error);
  REQUIRE_FALSE(error);
  auto sender = udp_socket::connect(receiver.local().to_string(), error);
  REQUIRE_FALSE(error);
  receiver.set_deadline(support::steady::now() + support::long_time);
  char buffer[8];
  CHECK(sender.send("ab", error) == 2);
  CHECK(receiver.recv(buffer, error) == 2);
  auto other = udp_socket::bind("127.0.0.1:0", error);
  CHECK(other.send_to("abc", receiver.local(), error) == 3);
  CHECK(receiver.recv_from(buffer, error).size == 3);
  CHECK_FALSE(error);
  CHECK_FALSE(udp_socket::bind("nonsense", error));
  CHECK(error);
  CHECK_FALSE(udp_socket::connect("nonsense", error));
  CHECK(error);
  receiver.close();
  CHECK(receiver.recv(buffer, error) == 0);
  CHECK(error == std::errc::operation_canceled);
  CHECK(receiver.recv_from(buffer, error).size == 0);
  CHECK(error == std::errc::operation_canceled);
}

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Room for several datagrams of up to 64 bytes.
struct mailbox {
  explicit mailbox(std::size_t n) : room(n * 64, char{}), slots(n) {
    for (std::size_t i = 0; i != n; ++i) {
      slots[i].buffer = std::as_writable_bytes(std::span(room).subspan(i * 64, 64));
    }
  }
  std::string text(std::size_t i) const { return room.substr(i * 64, slots[i].result.size); }

  std::string room;
  std::vector<udp_socket::incoming> slots;
};

}  // namespace

IN_RUNTIME("many datagrams are sent and received at once, in their order, each with its sender") {
  constexpr std::size_t n = 100;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i != n; ++i) {
    texts.push_back("datagram " + std::to_string(i));
  }
  texts[7].clear();  // one of 0 bytes is one, too
  const auto exchange = [&](udp_socket& from, udp_socket& to, const endpoint& where) {
    std::vector<udp_socket::outgoing> all;
    for (const std::string& text : texts) {
      all.push_back({bytes_of(text), where});
    }
    std::size_t sent = 0;
    auto sender = thrum::spawn([&] { sent = from.send_many(all); });
    std::size_t got = 0;
    std::size_t right = 0;
    while (got != n) {
      mailbox box(n);
      const std::size_t now = to.recv_many(box.slots);
      REQUIRE(now != 0);
      for (std::size_t i = 0; i != now; ++i, ++got) {
        right += box.text(i) == texts[got] && !box.slots[i].result.cut_off &&
                 box.slots[i].result.from == from.local();
      }
    }
    sender.join();
    CHECK(sent == n);
    CHECK(right == n);
  };
  for (const char* const any : {"127.0.0.1:0", "[::1]:0"}) {
    std::error_code no_ipv6;
    auto a = udp_socket::bind(any, no_ipv6);
    if (no_ipv6) {
      continue;
    }
    auto b = udp_socket::bind(any);
    exchange(a, b, b.local());
    auto connected = udp_socket::connect(b.local());
    exchange(connected, b, {});
  }
  auto a = udp_socket::bind(support::datagram_place());
  auto b = udp_socket::bind(support::datagram_place());
  exchange(a, b, b.local());
}

IN_RUNTIME("receiving many takes what is there, and waits only if there is nothing") {
  auto to =
      udp_socket::bind(support::datagram_place());  // over which what is sent is there at once
  auto from = udp_socket::connect(to.local());
  mailbox box(3);
  from.send("1");
  from.send("2");
  CHECK(to.recv_many(box.slots) == 2);
  CHECK(box.text(1) == "2");
  auto sender = thrum::spawn([&] {
    thrum::sleep_for(1ms);
    from.send(std::string(65, 'x'));
  });
  CHECK(to.recv_many(box.slots) == 1);
  sender.join();
  CHECK(box.text(0) == std::string(64, 'x'));
  CHECK(box.slots[0].result.cut_off);
  CHECK_FALSE(box.slots[1].result.cut_off);
  for (int i = 0; i != 5; ++i) {
    from.send(std::to_string(i));
  }
  CHECK(to.recv_many(box.slots) == 3);
  CHECK(to.recv_many(box.slots) == 2);
  CHECK(box.text(0) == "3");
  CHECK(to.recv_many({}) == 0);
  to.set_deadline(thrum::testing::now() + 1ms);
  std::error_code error;
  CHECK(to.recv_many(box.slots, error) == 0);
  CHECK(error == thrum::errc::deadline_exceeded);
  to.close();
  CHECK(support::error_of([&] { to.recv_many(box.slots); }) == std::errc::operation_canceled);
}

IN_RUNTIME("sending many tells how many were sent before one that cannot be") {
  auto to = udp_socket::bind(support::loopback());
  auto from = udp_socket::bind(support::loopback());
  const std::string small = "small";
  const std::string large(70'000, 'x');
  const udp_socket::outgoing all[] = {{bytes_of(small), to.local()},
                                      {bytes_of(small), to.local()},
                                      {bytes_of(large), to.local()},
                                      {bytes_of(small), to.local()}};
  std::error_code error;
  CHECK(from.send_many(all, error) == 2);
  CHECK(error == std::errc::message_size);
  CHECK(support::error_of([&] { from.send_many(all); }) == std::errc::message_size);
  CHECK(from.send_many(std::span(all).first(2), error) == 2);
  CHECK_FALSE(error);
  CHECK(from.send_many({}, error) == 0);
  CHECK_FALSE(error);
  const udp_socket::outgoing to_nobody[] = {{bytes_of(small)}};
  CHECK(from.send_many(to_nobody, error) == 0);
  CHECK(error == std::errc::destination_address_required);
}
