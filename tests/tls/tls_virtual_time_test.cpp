// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// net/tls.hpp over testing::fake_net: protocols over TLS can be tested in virtual time.

#include <thrum/net/tls.hpp>

#include <thrum/testing/fake_net.hpp>

#include "support/test.hpp"
#include "tls/certificates.hpp"

namespace net = thrum::net;
using thrum::testing::fake_net;

namespace {

/// A host "server" that listens for TLS, and what is trusted of it.
struct tls_world {
  explicit tls_world(const thrum::testing::fake_link& link) : network({.link = link, .seed = 1}) {
    const support::authority vouches;
    const support::identity own = vouches.issue({.names = "DNS:server"});
    server = net::tls_context::server({.certificate = own.certificate, .key = own.key});
    client = net::tls_context::client({.trust = vouches.certificate()});
    network.add_host("server", "10.0.0.1");
    listener = network.on("server", [] { return net::listener::listen(":443"); });
  }

  fake_net network;
  net::tls_context server;
  net::tls_context client;
  net::listener listener;
};

}  // namespace

IN_BUBBLE("tls over a network in memory: a handshake is a round trip, and deadlines cost no time") {
  tls_world world({.latency = 50ms});
  const auto begin = thrum::testing::now();
  auto serves = thrum::spawn([&] {
    net::tls_conn c = net::tls_conn::server(world.server, world.listener.accept());
    c.set_read_deadline(thrum::testing::now() + 3h);
    std::error_code error;
    c.read_all(error);
    return error;
  });
  net::tls_conn c = net::tls_dial("server:443", world.client, 10s);
  CHECK(thrum::testing::now() - begin == 200ms);  // one for the connection, one for the keys
  CHECK(serves.join() == thrum::errc::deadline_exceeded);
  CHECK(thrum::testing::now() - begin >= 3h);
  // Nobody accepts this one.
  std::error_code error;
  const auto again = thrum::testing::now();
  CHECK(!net::tls_dial("server:443", world.client, 10s, error));
  CHECK(error == thrum::errc::deadline_exceeded);
  CHECK(thrum::testing::now() - again == 10s);
}

IN_BUBBLE("tls over a network in memory that loses packets: all arrives") {
  tls_world world({.latency = 10ms, .loss = 0.05});
  std::string text(200'000, '\0');
  for (std::size_t i = 0; i != text.size(); ++i) {
    text[i] = static_cast<char>('a' + i * 7 % 23);
  }
  auto serves = thrum::spawn([&] {
    net::tls_conn c = net::tls_conn::server(world.server, world.listener.accept());
    thrum::io::copy(c, c);
    c.close_write();
    c.read_all();
  });
  net::tls_conn c = net::tls_dial("server:443", world.client);
  auto writes = thrum::spawn([&] {
    c.write(text);
    c.close_write();
  });
  CHECK((c.read_all() == text));
  writes.join();
  c.close();
  serves.join();
}
