// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// net/tls.hpp: how connections of ours end: by the peer, deadlines, close, the end of a runtime.

#include <thrum/net/tls.hpp>

#include "support/net.hpp"
#include "support/test.hpp"
#include "tls/pairs.hpp"

namespace net = thrum::net;
using net::tls_conn;
using net::tls_context;
using net::tls_error;
using support::agreed_tls_pair;
using support::asking;
using support::new_tls_pair;
using support::read_text;
using support::serving;
using support::some_bytes;
using support::tls_pair;

IN_RUNTIME("tls: an end that the peer has not announced is an error, not the end") {
  tls_pair made = agreed_tls_pair();
  made.server.write(std::string_view("half"));
  made.server.transport().close_write();  // below TLS
  std::error_code error;
  CHECK(made.client.read_all(error) == "half");
  CHECK(error == thrum::errc::unexpected_end);
  CHECK(support::error_of([&] { made.client.read_all(); }) == thrum::errc::unexpected_end);
  // And in the middle of the handshake.
  tls_pair other = new_tls_pair();
  other.server.transport().close();
  other.client.handshake(error);
  CHECK((error == thrum::errc::unexpected_end || error == std::errc::connection_reset));
}

IN_RUNTIME("tls: what is no TLS is said to be none") {
  support::conn_pair below = support::tcp_pair();
  tls_conn server = tls_conn::server(tls_context::server(serving()), std::move(below.server));
  below.client.write(std::string_view("GET / HTTP/1.0\r\n\r\n"));
  std::error_code error;
  server.handshake(error);
  CHECK(error == tls_error::protocol);
  CHECK(error.message() == "TLS failed: the peer does not speak TLS on this port");
  // Records that were changed on the way.
  tls_pair made = agreed_tls_pair();
  const char record[] = {23, 3,  3,  0,  20, 1,  2,  3,  4,  5,  6,  7, 8,
                         9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  made.server.transport().write(std::string_view(record, sizeof record));
  made.client.read_all(error);
  CHECK(error == tls_error::protocol);
  std::error_code again;
  made.client.write(std::string_view("x"), again);
  CHECK(again == error);
  made.server.read_all(error);
  CHECK(error == tls_error::refused_by_peer);  // by an alert
}

IN_RUNTIME("tls: after close_write reading goes on, and writing fails") {
  tls_pair made = agreed_tls_pair();
  made.client.close_write();
  made.client.close_write();
  CHECK(made.server.read_all().empty());
  made.server.write(std::string_view("still here"));
  CHECK(read_text(made.client, 10) == "still here");
  CHECK(support::error_of([&] { made.client.write(std::string_view("x")); }) ==
        std::errc::broken_pipe);
  made.server.close_write();
  CHECK(made.client.read_all().empty());
}

IN_RUNTIME("tls: close_write does not wait for a read that is under way") {
  tls_pair made = agreed_tls_pair();
  auto reader = thrum::spawn([&] { return made.client.read_all(); });
  CHECK(are_waiting(1));
  made.client.handshake();  // is done: nothing to wait for
  made.client.close_write();
  CHECK(made.server.read_all().empty());
  made.server.write(std::string_view("later"));
  made.server.close_write();
  CHECK(reader.join() == "later");
}

IN_RUNTIME("tls: deadlines end what waits, and what comes later, until they are moved") {
  tls_pair made = agreed_tls_pair();
  made.server.write(std::string_view("abc"));
  CHECK(read_text(made.client, 1) == "a");
  std::error_code error;
  made.client.set_read_deadline(support::steady::now());
  CHECK(read_text(made.client, 1, error).empty());  // although there is data
  CHECK(error == thrum::errc::deadline_exceeded);
  made.client.set_read_deadline(thrum::time_point::max());
  CHECK(read_text(made.client, 2) == "bc");
  const auto begin = support::steady::now();
  made.client.set_read_deadline(begin + 30ms);
  CHECK(read_text(made.client, 1, error).empty());
  CHECK(error == thrum::errc::deadline_exceeded);
  CHECK(support::steady::now() - begin >= 30ms);
  made.client.set_deadline(support::steady::now());
  CHECK(made.client.write(std::string_view("x"), error) == 0);
  CHECK(error == thrum::errc::deadline_exceeded);
  // A handshake that nobody answers.
  support::conn_pair below = support::tcp_pair();
  tls_conn alone =
      tls_conn::client(tls_context::client(asking()), std::move(below.client), "localhost");
  alone.set_deadline(support::steady::now() + 30ms);
  alone.handshake(error);
  CHECK(error == thrum::errc::deadline_exceeded);
  // Also by the write deadline alone.
  support::conn_pair silent = support::tcp_pair();
  alone = tls_conn::client(tls_context::client(asking()), std::move(silent.client), "localhost");
  alone.set_write_deadline(support::steady::now() + 20ms);
  error.clear();
  alone.handshake(error);
  CHECK(error == thrum::errc::deadline_exceeded);
}

IN_RUNTIME("tls: close tells the peer that this is the end, also after a deadline") {
  for (const char* const before : {"a write", "a read", "no deadline"}) {
    INFO(before);
    tls_pair made = agreed_tls_pair();
    std::error_code error;
    if (before[2] == 'w') {
      made.client.set_write_deadline(support::steady::now());
      made.client.write(std::string_view("x"), error);
    } else if (before[2] == 'r') {
      made.client.set_deadline(support::steady::now());
      read_text(made.client, 1, error);
    } else {
      made.client.write(std::string_view("bye"));
    }
    CHECK((error == thrum::errc::deadline_exceeded) == (before[0] == 'a'));
    made.client.close();
    CHECK(made.server.read_all(error) == (before[0] == 'a' ? "" : "bye"));
    CHECK(!error);
    CHECK(made.client.remote().family() == net::address_family::none);
  }
}

IN_RUNTIME("tls: a write that a deadline has cut short goes on where it was") {
  tls_pair made = agreed_tls_pair();
  const std::string block = some_bytes(std::size_t{1} << 20);
  std::string written;
  std::error_code error;
  do {  // until nothing more goes in
    made.client.set_write_deadline(support::steady::now() + 20ms);
    const std::size_t n = made.client.write(block, error);
    written.append(block, 0, n);
  } while (!error);
  CHECK(error == thrum::errc::deadline_exceeded);
  made.client.set_write_deadline(thrum::time_point::max());
  auto reader = thrum::spawn([&] { return made.server.read_all(); });
  made.client.write(std::string_view("the end"));
  made.client.close_write();
  const std::string read = reader.join();
  CHECK(read.size() == written.size() + 7);
  CHECK((read == written + "the end"));
}

IN_RUNTIME("tls: close wakes the waiting calls, and fails later ones") {
  tls_pair made = agreed_tls_pair();
  auto reader = thrum::spawn([&] {
    std::error_code error;
    made.client.read_all(error);
    return error;
  });
  auto writer = thrum::spawn([&] {
    const std::string block = some_bytes(std::size_t{1} << 20);
    std::error_code error;
    while (!error) {
      made.client.write(block, error);
    }
    return error;
  });
  CHECK(are_waiting(2));
  made.client.close();
  CHECK(support::is_cancelled(reader.join()));
  CHECK(support::is_cancelled(writer.join()));
  std::error_code error;
  made.client.handshake(error);
  made.client.read_all(error);
  CHECK(support::is_cancelled(error));
  made.client.close_write(error);
  CHECK(support::is_cancelled(error));
  made.client.close();
}

TEST_CASE("tls: the end of the runtime ends a handshake, a read and a write that wait") {
  support::conn_pair silent = support::tcp_pair();
  const tls_context client = tls_context::client(asking());
  std::optional<tls_pair> made;
  std::atomic<int> unwound{0};
  struct count_at_end {
    std::atomic<int>& to;
    ~count_at_end() { ++to; }
  };
  {
    thrum::runtime runtime(support::environment_options());
    runtime.block_on([&] { made.emplace(agreed_tls_pair()); });
    runtime.go([&] {
      const count_at_end counts{unwound};
      tls_conn::client(client, silent.client, "localhost").handshake();
    });
    runtime.go([&] {
      const count_at_end counts{unwound};
      made->client.read_all();
    });
    runtime.go([&] {
      const count_at_end counts{unwound};
      const std::string block = some_bytes(std::size_t{1} << 20);
      for (;;) {
        made->client.write(block);
      }
    });
    CHECK(eventually([&] { return runtime.stats().waiting == 3; }));
    runtime.stop();
  }
  CHECK(unwound == 3);
}

IN_RUNTIME("tls_dial: one deadline for all of it, and errors of each part") {
  const tls_context client = tls_context::client(asking());
  net::listener silent = net::listener::listen(support::loopback());
  std::error_code error;
  const auto begin = support::steady::now();
  const std::string at = "localhost:" + std::to_string(silent.local().port());
  CHECK(!net::tls_dial(at, client, 50ms, error));
  CHECK(error == thrum::errc::deadline_exceeded);
  CHECK(support::steady::now() - begin >= 50ms);
  CHECK(!net::tls_dial("localhost", client, 1s, error));
  CHECK(error == net::endpoint_error::no_port);
  const support::closed_port nobody;
  CHECK(!net::tls_dial(nobody.where().to_string(), client, 60s, error));
  CHECK(error == std::errc::connection_refused);
  CHECK(support::error_of([&] { net::tls_dial(at, client, support::steady::now()); }) ==
        thrum::errc::deadline_exceeded);
}
