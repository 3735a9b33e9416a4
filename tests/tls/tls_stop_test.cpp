// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// net/tls.hpp: calls that a stop ends.

#include <thrum/net/tls.hpp>

#include "support/net.hpp"
#include "support/test.hpp"
#include "tls/pairs.hpp"

namespace net = thrum::net;
using net::tls_context;
using support::agreed_tls_pair;
using support::asking;
using support::new_tls_pair;
using support::read_text;
using support::shake;
using support::some_bytes;
using support::tls_pair;

IN_RUNTIME("a stop ends calls of a tls_conn, and the stream stays whole") {
  const auto at_once = [] { return thrum::context().with_timeout(2ms); };
  std::error_code error;
  char buffer[4];
  tls_pair quiet = new_tls_pair();
  quiet.client.handshake(at_once(), error);
  CHECK(error == std::errc::operation_canceled);
  CHECK_FALSE(shake(quiet.client, quiet.server).of_client);

  tls_pair pair = agreed_tls_pair();
  CHECK(pair.client.read(buffer, at_once(), error) == 0);
  CHECK(error == std::errc::operation_canceled);
  auto first = thrum::spawn([&] { return read_text(pair.client, 4); });
  REQUIRE(are_waiting(1));
  CHECK(pair.client.read(buffer, at_once(), error) == 0);  // waits for its turn
  CHECK(error == std::errc::operation_canceled);
  pair.server.write("four", thrum::context().with_timeout(1h));
  CHECK(first.join() == "four");

  const std::string much = some_bytes(std::size_t{16} << 20);
  const std::size_t done = pair.server.write(much, at_once(), error);
  CHECK(error == std::errc::operation_canceled);
  auto reader = thrum::spawn([&] { return pair.client.read_all(); });
  pair.server.write(std::string_view(much).substr(done));
  pair.server.close_write();
  CHECK(reader.join() == much);
}

IN_RUNTIME("tls_dial ends with its stop") {
  const tls_context client = tls_context::client(asking());
  net::listener silent = net::listener::listen(support::loopback());
  std::error_code error;
  const std::string at = "localhost:" + std::to_string(silent.local().port());
  CHECK(!net::tls_dial(at, client, thrum::context().with_timeout(5ms), error));
  CHECK(error == std::errc::operation_canceled);
  CHECK(support::error_of([&] { net::tls_dial(at, client, thrum::context().with_timeout(5ms)); }) ==
        std::errc::operation_canceled);
}
