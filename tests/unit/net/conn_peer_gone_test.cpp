// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Connections of which one end is closed while they are used.

#include "support/net.hpp"
#include "support/test.hpp"

using support::conn_pair;
using support::tcp_pair;

IN_RUNTIME("closing a direction of a closed connection fails, and leaves a later one alone") {
  conn_pair closed = tcp_pair();
  closed.client.close();
  conn_pair later = tcp_pair();  // has the number that was just given back
  std::error_code error;
  closed.client.close_write(error);
  CHECK(error == std::errc::operation_canceled);
  closed.client.close_read(error);
  CHECK(error == std::errc::operation_canceled);
  CHECK_THROWS_AS(closed.client.close_write(), std::system_error);
  CHECK(later.client.write("still there") == 11);

  later.client.close_write(error);
  CHECK_FALSE(error);
  char text[11];
  CHECK(later.server.read_full(text) == 11);
  CHECK(later.server.read(text) == 0);
  thrum::net::conn none;
  none.close_write(error);
  CHECK(error == std::errc::bad_file_descriptor);
}

TEST_CASE("close_write does not wait for a write that is in progress, and close waits for both") {
  constexpr int rounds = 50;
  std::atomic<int> writes_ended{0};
  support::with_runtime([&] {
    for (int round = 0; round != rounds; ++round) {
      conn_pair c = tcp_pair();
      thrum::wait_group all;
      all.go([&] {
        std::error_code error;
        const std::string much(16 << 20, 'x');
        c.client.write(much, error);  // nobody reads: it ends by close_write or close
        writes_ended += error ? 1 : 0;
      });
      all.go([&] {
        std::error_code error;
        c.client.close_write(error);
      });
      all.go([&] { c.client.close(); });
      all.wait();
    }
  });
  CHECK(writes_ended == rounds);
}

IN_RUNTIME("after close_read a read gives the end of the stream, also one that waits") {
  conn_pair pair = tcp_pair();
  char buffer[8];
  auto waiting = thrum::spawn([&] { return pair.server.read(std::span(buffer)); });
  thrum::sleep_for(10ms);
  pair.server.close_read();
  CHECK(waiting.join() == 0);
  CHECK(pair.server.read(std::span(buffer)) == 0);
}

// A system may say of such a socket that it is ready and has no peer: as if it still connected.
IN_RUNTIME("dials to a peer that resets each connection at once end, with or without an error") {
  auto listener = thrum::net::listener::listen(support::loopback());
  auto resets = thrum::spawn([&] {
    std::error_code error;
    while (!error) {
      thrum::net::conn c = listener.accept(error);
      std::error_code ignored;
      if (!error) {
        c.linger(0, ignored);
      }
    }
  });
  std::atomic<int> late{0};
  in_goroutines(8, [&](int) {
    for (int k = support::scaled(200, 50); k != 0; --k) {
      std::error_code error;
      thrum::net::dial(listener.local(), support::long_time, error);
      late += support::is_timeout(error) ? 1 : 0;
    }
  });
  CHECK(late == 0);
  listener.close();
  resets.join();
}
