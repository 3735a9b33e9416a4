// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Two hosts in a fake net.
#ifndef THRUM_TESTS_SUPPORT_FAKE_PAIR_HPP
#define THRUM_TESTS_SUPPORT_FAKE_PAIR_HPP

#include <thrum/testing/fake_net.hpp>

#include <thrum.hpp>
#include <thrum/testing/bubble.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace support {

/// Two hosts, "server" with a listener on port 80, and a link between it and "localhost".
struct fake_pair {
  explicit fake_pair(const thrum::testing::fake_link& link = {}, std::uint64_t seed = 1)
      : network({.link = link, .seed = seed}) {
    network.add_host("server", "10.0.0.1", "2001:db8::2");
    listener = network.on("server", [] { return thrum::net::listener::listen(":80"); });
  }
  /// The client's end, and the server's.
  std::pair<thrum::net::conn, thrum::net::conn> connect() {
    auto accepted = thrum::spawn([this] { return listener.accept(); });
    thrum::net::conn client = thrum::net::dial("server:80");
    return {std::move(client), accepted.join()};
  }

  thrum::testing::fake_net network;
  thrum::net::listener listener;
};

inline std::chrono::nanoseconds passed_since(thrum::time_point begin) {
  return thrum::testing::now() - begin;
}

inline std::string text_of(thrum::net::conn& from, std::size_t n) {
  std::string text(n, '\0');
  text.resize(from.read_full(std::span<char>(text)));
  return text;
}

}  // namespace support

#endif
