// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// net/tls.hpp: sessions that are resumed, and servers of many.

#include <thrum/net/tls.hpp>

#include "support/net.hpp"
#include "support/test.hpp"
#include "tls/pairs.hpp"

#include <openssl/ssl.h>

namespace io = thrum::io;
namespace net = thrum::net;
using net::tls_conn;
using net::tls_context;
using support::asking;
using support::read_text;
using support::serving;
using support::some_bytes;

TEST_CASE("tls: a second connection of a context resumes the session of the first") {
  const auto both = [](const tls_context& client, const tls_context& server, auto talk) {
    net::listener at = net::listener::listen(support::loopback());
    auto serves = thrum::spawn([&] {
      for (int i = 0; i < 3; ++i) {
        tls_conn c = tls_conn::server(server, at.accept());
        c.write(read_text(c, 1));
        c.close_write();
        c.read_all();
      }
    });
    std::string resumed;
    for (int i = 0; i < 3; ++i) {
      tls_conn c = net::tls_dial("localhost:" + std::to_string(at.local().port()), client, 60s);
      c.write(std::string_view("x"));
      CHECK(c.read_all() == "x");
      c.close_write();
      resumed += c.resumed() ? 'r' : '-';
      talk(c);
    }
    serves.join();
    return resumed;
  };
  with_runtime([&] {
    const auto nothing = [](tls_conn&) {};
    CHECK(both(tls_context::client(asking()), tls_context::server(serving()), nothing) == "-rr");
    CHECK(both(tls_context::client(asking({.sessions = 0})), tls_context::server(serving()),
               nothing) == "---");
    CHECK(both(tls_context::client(asking()), tls_context::server(serving({.sessions = 0})),
               nothing) == "---");
    const tls_context old = tls_context::client(asking());
    SSL_CTX_set_max_proto_version(old.native_handle(), TLS1_2_VERSION);
    CHECK(both(old, tls_context::server(serving()),
               [](tls_conn& c) { CHECK(c.version() == "TLSv1.2"); }) == "-rr");
  });
}

TEST_CASE("tls: sessions of more hosts than are kept replace those used longest ago") {
  thrum::net_detail::tls_sessions kept(2);
  const auto new_session = [] {
    ::SSL_SESSION* const made = SSL_SESSION_new();
    SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION);
    return thrum::net_detail::tls_owner<::SSL_SESSION>(made);
  };
  kept.keep("a", new_session());
  kept.keep("b", new_session());
  kept.keep("a", new_session());
  kept.keep("c", new_session());
  CHECK(kept.take("b") == nullptr);
  CHECK(kept.take("c") != nullptr);
  CHECK(kept.take("c") == nullptr);  // used once
  CHECK(kept.take("a") != nullptr);
  CHECK(kept.take("a") != nullptr);
  CHECK(kept.take("a") == nullptr);
  for (int i = 0; i < 10; ++i) {
    kept.keep("d", new_session());
  }
  int n = 0;
  while (kept.take("d") != nullptr) {
    ++n;
  }
  CHECK(n == 4);
}

IN_RUNTIME("tls: many connections through a server that is stopped in order") {
  const tls_context context = tls_context::server(serving());
  const tls_context client = tls_context::client(asking());
  net::server serves(net::listener::listen(support::loopback()));
  const std::string at = "localhost:" + std::to_string(serves.local().port());
  auto accepts = thrum::spawn([&] {
    serves.serve([&](net::conn& c) {
      tls_conn secured = tls_conn::server(context, c);  // the server still knows the connection
      io::copy(secured, secured);
      secured.close_write();
    });
  });
  const std::string bytes = some_bytes(20'000);
  thrum::task_group group(16);
  std::atomic<int> whole{0};
  for (int i = 0; i < 100; ++i) {
    group.go([&] {
      tls_conn c = net::tls_dial(at, client, 120s);
      auto writes = thrum::spawn([&] {
        c.write(bytes);
        c.close_write();
      });
      whole += c.read_all() == bytes ? 1 : 0;
      writes.join();
    });
  }
  group.wait();
  CHECK(whole == 100);
  // One that does nothing is closed when the time is up.
  tls_conn idle = net::tls_dial(at, client, 60s);
  serves.stop_until(support::steady::now());
  accepts.join();
  std::error_code error;
  idle.read_all(error);
  CHECK((error || idle.buffered() == 0));
}

IN_RUNTIME("tls: a session of a server that is between requests ends without an error") {
  const tls_context context = tls_context::server(serving());
  net::server serves(net::listener::listen(support::loopback()), {.idle_grace = 1ms});
  auto accepts = thrum::spawn([&] {
    serves.serve([&](net::conn& c, net::server::session& at) {
      tls_conn secured = tls_conn::server(context, c);
      secured.handshake();
      char request;
      // What came with the last request is here already, and the connection does not tell of it.
      while (secured.buffered() != 0 || at.wait_request()) {
        if (secured.read({&request, 1}) == 0) {
          return;
        }
        secured.write(std::string_view(&request, 1));
      }
    });
  });
  tls_conn c = net::tls_dial("localhost:" + std::to_string(serves.local().port()),
                             tls_context::client(asking()), 60s);
  c.write(std::string_view("abc"));  // three requests in one record
  CHECK(read_text(c, 3) == "abc");
  c.write(std::string_view("d"));
  CHECK(read_text(c, 1) == "d");
  serves.stop();
  accepts.join();
  std::error_code error;
  CHECK(c.read_all(error).empty());
  CHECK(!error);
}
