// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of closing, re-created from their descriptions: which waits end, what fails
// afterwards, and what the peer sees. What happens to the number is in net_close_race_test.cpp.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/net.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <system_error>

using namespace std::chrono_literals;
using support::error_of;
using support::is_cancelled;
using support::local_pair;
using support::loopback;
using support::scaled;
using support::steady;
using support::tcp_pair;
using support::with_runtime;
using thrum::time_point;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::listener;
using thrum::net::udp_socket;

namespace {

/// What each of n goroutines inside `wait(error)` gets when `close` is called after a while.
int cancelled_by(int n, const std::function<void(std::error_code&)>& wait,
                 const std::function<void()>& close) {
  std::atomic<int> cancelled{0};
  thrum::wait_group group;
  for (int i = 0; i != n; ++i) {
    group.go([&] {
      std::error_code error;
      wait(error);
      cancelled += is_cancelled(error);
    });
  }
  thrum::sleep_for(2ms);
  close();
  group.wait();
  return cancelled;
}

}  // namespace

TEST_CASE(
    "CloseUnblocksRead, ClosingListener, CloseUnblocksReadUDP: every call that waits is "
    "cancelled") {
  with_runtime([] {
    char buffer[1];
    for (auto& pair : {tcp_pair(), local_pair()}) {
      auto& c = const_cast<conn&>(pair.client);
      CHECK(cancelled_by(
                5, [&](std::error_code& error) { c.read(buffer, error); }, [&] { c.close(); }) ==
            5);
    }
    auto ends = tcp_pair();
    support::fill(ends.client);
    const std::string much(std::size_t{8} << 20, 'x');
    CHECK(cancelled_by(
              5, [&](std::error_code& error) { ends.client.write(much, error); },
              [&] { ends.client.close(); }) == 5);
    auto listener = listener::listen(loopback());
    CHECK(cancelled_by(
              5, [&](std::error_code& error) { listener.accept(error); },
              [&] { listener.close(); }) == 5);
    auto socket = udp_socket::bind(loopback());
    CHECK(cancelled_by(
              5,
              [&](std::error_code& error) { error = error_of([&] { socket.recv_from(buffer); }); },
              [&] { socket.close(); }) == 5);
  });
}

TEST_CASE("ConnClose: after close everything fails with operation_canceled, and nothing hangs") {
  with_runtime([] {
    auto ends = tcp_pair();
    ends.server.write("unread");
    ends.client.close();
    ends.client.close();
    char buffer[8];
    std::error_code error;
    CHECK(is_cancelled(error_of([&] { ends.client.read(buffer); })));
    CHECK(is_cancelled(error_of([&] { ends.client.read_full(buffer); })));
    CHECK(is_cancelled(error_of([&] { ends.client.write("x"); })));
    CHECK(is_cancelled(error_of([&] { ends.client.write_v({}); })));
    CHECK(is_cancelled(error_of([&] { ends.client.send_file(thrum::os::handle{}, 0, 1); })));
    CHECK(is_cancelled(error_of([&] { ends.client.wait_readable(); })));
    CHECK(ends.client.read(buffer, error) == 0);
    CHECK(is_cancelled(error));
    CHECK(ends.client.native_handle() == thrum::os::no_handle);
    CHECK(ends.client.local().family() == thrum::net::address_family::none);
    CHECK(ends.client.remote().family() == thrum::net::address_family::none);
    ends.client.set_deadline(steady::now());
    ends.client.set_deadline(time_point::max());
    CHECK(static_cast<bool>(ends.client));
  });
}

TEST_CASE("after close, half closing and setting options fail with operation_canceled, too") {
  with_runtime([] {
    auto ends = tcp_pair();
    ends.client.close();
    CHECK(is_cancelled(error_of([&] { ends.client.close_write(); })));
    CHECK(is_cancelled(error_of([&] { ends.client.close_read(); })));
    CHECK(is_cancelled(error_of([&] { ends.client.no_delay(true); })));
    CHECK(is_cancelled(error_of([&] { ends.client.keep_alive({}); })));
    CHECK(is_cancelled(error_of([&] { ends.client.linger(0); })));
  });
}

TEST_CASE("a connection that was never made fails with bad_file_descriptor and closes quietly") {
  conn none;
  listener nowhere;
  udp_socket unbound;
  char buffer[1];
  CHECK(error_of([&] { none.read(buffer); }) == std::errc::bad_file_descriptor);
  CHECK(error_of([&] { none.write("x"); }) == std::errc::bad_file_descriptor);
  CHECK(error_of([&] { none.close_write(); }) == std::errc::bad_file_descriptor);
  CHECK(error_of([&] { nowhere.accept(); }) == std::errc::bad_file_descriptor);
  CHECK(error_of([&] { unbound.recv(buffer); }) == std::errc::bad_file_descriptor);
  none.set_deadline(steady::now());
  none.close();
  nowhere.close();
  unbound.close();
  CHECK_FALSE(none);
}

TEST_CASE("TCPListenAfterClose: accept fails after close, and the port can be listened on again") {
  with_runtime([] {
    auto first = listener::listen(loopback());
    const auto where = first.local();
    const conn client = dial(where);
    const conn server = first.accept();
    first.close();
    CHECK(is_cancelled(error_of([&] { first.accept(); })));
    auto second = listener::listen(where);
    CHECK(second.local() == where);
    const conn another = dial(where);
    CHECK(second.accept().remote() == another.local());
  });
}

TEST_CASE("PacketConnClose: after close datagrams fail, and the port can be bound again") {
  with_runtime([] {
    auto first = udp_socket::bind(loopback());
    const auto where = first.local();
    first.close();
    char buffer[1];
    CHECK(is_cancelled(error_of([&] { first.recv_from(buffer); })));
    CHECK(is_cancelled(error_of([&] { first.send_to("x", where); })));
    CHECK(udp_socket::bind(where).local() == where);
  });
}

TEST_CASE("CloseWrite: the peer reads the end, and still can be read from") {
  with_runtime([] {
    for (auto& pair : {tcp_pair(), local_pair()}) {
      auto& client = const_cast<conn&>(pair.client);
      auto& server = const_cast<conn&>(pair.server);
      char buffer[8];
      client.write("abc");
      client.close_write();
      CHECK(server.read(buffer) == 3);
      CHECK(server.read(buffer) == 0);
      CHECK(server.read(buffer) == 0);
      CHECK(error_of([&] { client.write("x"); }) == std::errc::broken_pipe);
      server.write("defg");
      CHECK(client.read(buffer) == 4);
      server.close();
      CHECK(client.read(buffer) == 0);
    }
  });
}

TEST_CASE("CloseWrite: it ends a read of the peer that waits already") {
  with_runtime([] {
    auto ends = tcp_pair();
    std::size_t got = 1;
    thrum::wait_group group;
    group.go([&s = ends.server, &got] {
      char buffer[8];
      while ((got = s.read(buffer)) != 0) {
      }
    });
    ends.client.write("x");
    thrum::sleep_for(2ms);
    ends.client.close_write();
    group.wait();
    CHECK(got == 0);
  });
}

TEST_CASE("CloseRead: a read that waits, and each later one, gives the end of the stream") {
  with_runtime([] {
    auto ends = tcp_pair();
    std::size_t got = 1;
    thrum::wait_group group;
    group.go([&c = ends.client, &got] {
      char buffer[8];
      got = c.read(buffer);
    });
    thrum::sleep_for(2ms);
    ends.client.close_read();
    group.wait();
    CHECK(got == 0);
    char buffer[8];
    CHECK(ends.client.read(buffer) == 0);
    ends.client.write("still");
    CHECK(ends.server.read(buffer) == 5);
  });
}

TEST_CASE("whatever was written before close arrives, and then the end") {
  with_runtime([] {
    for (int i = 0; i != scaled(50, 5); ++i) {
      auto ends = tcp_pair();
      const std::string text(200'000, 'c');
      std::size_t got = 0;
      thrum::wait_group group;
      group.go([&s = ends.server, &got] {
        char buffer[1000];
        while (const std::size_t n = s.read(buffer)) {
          got += n;
        }
      });
      ends.client.write(text);
      ends.client.close();
      group.wait();
      CHECK(got == text.size());
    }
  });
}
