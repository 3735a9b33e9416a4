// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Two ends of a TLS connection of ours, with certificates for it.
#ifndef THRUM_TESTS_TLS_PAIRS_HPP
#define THRUM_TESTS_TLS_PAIRS_HPP

#include <thrum/net/tls.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/net.hpp"
#include "tls/certificates.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace support {

/// One for all tests: making keys takes time.
inline const authority& vouches() {
  static const authority made;
  return made;
}
inline const identity& itself() {
  static const identity made = vouches().issue();
  return made;
}

inline thrum::net::tls_options serving(thrum::net::tls_options how = {}) {
  if (how.certificate.empty()) {
    how.certificate = itself().certificate;
    how.key = itself().key;
  }
  return how;
}
inline thrum::net::tls_options asking(thrum::net::tls_options how = {}) {
  if (how.trust.empty()) {
    how.trust = vouches().certificate();
  }
  return how;
}

struct tls_pair {
  thrum::net::tls_conn client;
  thrum::net::tls_conn server;
};

/// Two ends over TCP, without a handshake yet.
inline tls_pair new_tls_pair(const thrum::net::tls_context& client,
                             const thrum::net::tls_context& server,
                             std::string_view host = "localhost") {
  conn_pair below = tcp_pair();
  return {thrum::net::tls_conn::client(client, std::move(below.client), host),
          thrum::net::tls_conn::server(server, std::move(below.server))};
}
inline tls_pair new_tls_pair() {
  return new_tls_pair(thrum::net::tls_context::client(asking()),
                      thrum::net::tls_context::server(serving()));
}

struct handshake_errors {
  std::error_code of_client;
  std::error_code of_server;
};

/// Both sides' handshakes, until both have said something.
inline handshake_errors shake(thrum::net::tls_conn& client, thrum::net::tls_conn& server) {
  handshake_errors found;
  auto serving_side = thrum::spawn([&] {
    std::error_code error;
    server.handshake(error);
    return error;
  });
  client.handshake(found.of_client);
  found.of_server = serving_side.join();
  return found;
}

/// Both ends of a connection that has agreed.
inline tls_pair agreed_tls_pair() {
  tls_pair made = new_tls_pair();
  const handshake_errors errors = shake(made.client, made.server);
  CHECK(!errors.of_client);
  CHECK(!errors.of_server);
  return made;
}

inline std::string read_text(thrum::net::tls_conn& from, std::size_t n, std::error_code& error) {
  std::string text(n, '\0');
  text.resize(from.read_full(text, error));
  return text;
}
inline std::string read_text(thrum::net::tls_conn& from, std::size_t n) {
  std::string text(n, '\0');
  text.resize(from.read_full(text));
  return text;
}

inline std::string some_bytes(std::size_t n) {
  std::string bytes(n, '\0');
  std::uint32_t state = 1;
  for (char& each : bytes) {
    state = state * 1664525 + 1013904223;
    each = static_cast<char>(state >> 24);
  }
  return bytes;
}

}  // namespace support

#endif
