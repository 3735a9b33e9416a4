// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#ifndef THRUM_TESTS_UNIT_NET_SENT_TO_PEER_HPP
#define THRUM_TESTS_UNIT_NET_SENT_TO_PEER_HPP

#include "support/net.hpp"

#include <thrum.hpp>

#include <cstdint>
#include <string>
#include <system_error>

namespace support {

/// Sends from a file, and closes; what the peer has got.
inline std::string sent_to_peer(int file, std::uint64_t offset, std::uint64_t n,
                                std::uint64_t& sent, std::error_code& error) {
  auto pair = tcp_pair();
  auto sender = thrum::spawn([&] {
    sent = pair.client.send_file(file, offset, n, error);
    pair.client.close();
  });
  std::string got = pair.server.read_all();
  sender.join();
  return got;
}

}  // namespace support

#endif
