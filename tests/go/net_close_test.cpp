// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of closing, re-created from their descriptions: who is woken, what fails afterwards,
// what the peer sees, and that the next owner of a number has nothing to do with the last one.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/net.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

using namespace std::chrono_literals;
using support::error_of;
using support::eventually;
using support::is_cancelled;
using support::is_timeout;
using support::loopback;
using support::scaled;
using support::steady;
using support::tcp_pair;
using support::unix_pair;
using support::with_runtime;
using thrum::time_point;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::listener;
using thrum::net::udp_socket;

namespace {

/// What each of n goroutines inside `wait(error)` gets when `close` is called after a while.
template <class Wait, class Close>
int cancelled_by(int n, Wait wait, Close close) {
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

TEST_CASE("CloseUnblocksRead: every read that waits fails with operation_canceled") {
  with_runtime([] {
    for (auto& pair : {tcp_pair(), unix_pair()}) {
      auto& c = const_cast<conn&>(pair.client);
      const auto read = [&](std::error_code& error) {
        char buffer[1];
        c.read(buffer, error);
      };
      CHECK(cancelled_by(5, read, [&] { c.close(); }) == 5);
    }
  });
}

TEST_CASE("close ends every write that waits with operation_canceled") {
  with_runtime([] {
    auto [client, server] = tcp_pair();
    support::fill(client);
    const std::string much(std::size_t{8} << 20, 'x');
    const auto write = [&c = client, &much](std::error_code& error) { c.write(much, error); };
    CHECK(cancelled_by(5, write, [&] { client.close(); }) == 5);
  });
}

TEST_CASE("ClosingListener: every accept that waits fails with operation_canceled") {
  with_runtime([] {
    auto listener = listener::listen(loopback());
    const auto accept = [&](std::error_code& error) { listener.accept(error); };
    CHECK(cancelled_by(5, accept, [&] { listener.close(); }) == 5);
  });
}

TEST_CASE("CloseUnblocksReadUDP: every receive that waits fails with operation_canceled") {
  with_runtime([] {
    auto socket = udp_socket::bind(loopback());
    const auto receive = [&](std::error_code& error) {
      char buffer[1];
      error = error_of([&] { socket.recv_from(buffer); });
    };
    CHECK(cancelled_by(5, receive, [&] { socket.close(); }) == 5);
  });
}

TEST_CASE("ConnClose: after close everything fails with operation_canceled, and nothing hangs") {
  with_runtime([] {
    auto [c, peer] = tcp_pair();
    peer.write("unread");
    c.close();
    c.close();
    char buffer[8];
    std::error_code error;
    CHECK(is_cancelled(error_of([&] { c.read(buffer); })));
    CHECK(is_cancelled(error_of([&] { c.read_full(buffer); })));
    CHECK(is_cancelled(error_of([&] { c.write("x"); })));
    CHECK(is_cancelled(error_of([&] { c.write_v({}); })));
    CHECK(is_cancelled(error_of([&] { c.send_file(0, 0, 1); })));
    CHECK(is_cancelled(error_of([&] { c.wait_readable(); })));
    CHECK(c.read(buffer, error) == 0);
    CHECK(is_cancelled(error));
    CHECK(c.native_handle() == -1);
    CHECK(c.local().family() == thrum::net::address_family::none);
    CHECK(c.remote().family() == thrum::net::address_family::none);
    c.set_deadline(steady::now());
    c.set_deadline(time_point::max());
    CHECK(static_cast<bool>(c));
  });
}

TEST_CASE("after close, half closing and setting options fail with operation_canceled, too") {
  with_runtime([] {
    auto [c, peer] = tcp_pair();
    c.close();
    CHECK(is_cancelled(error_of([&] { c.close_write(); })));
    CHECK(is_cancelled(error_of([&] { c.close_read(); })));
    CHECK(is_cancelled(error_of([&] { c.no_delay(true); })));
    CHECK(is_cancelled(error_of([&] { c.keep_alive({}); })));
    CHECK(is_cancelled(error_of([&] { c.linger(0); })));
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
    for (auto& pair : {tcp_pair(), unix_pair()}) {
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
    auto [client, server] = tcp_pair();
    std::size_t got = 1;
    thrum::wait_group group;
    group.go([&s = server, &got] {
      char buffer[8];
      while ((got = s.read(buffer)) != 0) {
      }
    });
    client.write("x");
    thrum::sleep_for(2ms);
    client.close_write();
    group.wait();
    CHECK(got == 0);
  });
}

TEST_CASE("CloseRead: a read that waits, and each later one, gives the end of the stream") {
  with_runtime([] {
    auto [client, server] = tcp_pair();
    std::size_t got = 1;
    thrum::wait_group group;
    group.go([&c = client, &got] {
      char buffer[8];
      got = c.read(buffer);
    });
    thrum::sleep_for(2ms);
    client.close_read();
    group.wait();
    CHECK(got == 0);
    char buffer[8];
    CHECK(client.read(buffer) == 0);
    client.write("still");
    CHECK(server.read(buffer) == 5);
  });
}

TEST_CASE("whatever was written before close arrives, and then the end") {
  with_runtime([] {
    for (int i = 0; i != scaled(50, 5); ++i) {
      auto [client, server] = tcp_pair();
      const std::string text(200'000, 'c');
      std::size_t got = 0;
      thrum::wait_group group;
      group.go([&s = server, &got] {
        char buffer[1000];
        while (const std::size_t n = s.read(buffer)) {
          got += n;
        }
      });
      client.write(text);
      client.close();
      group.wait();
      CHECK(got == text.size());
    }
  });
}

TEST_CASE("close returns when the number is free: the next descriptor may have it") {
  with_runtime([] {
    for (int i = 0; i != scaled(200, 20); ++i) {
      auto [client, server] = unix_pair();
      const int number = client.native_handle();
      thrum::wait_group group;
      group.go([&c = client] {
        char buffer[1];
        std::error_code error;
        c.read(buffer, error);
      });
      if (i % 2 == 0) {
        thrum::sleep_for(50us);
      }
      client.close();
      CHECK((::fcntl(number, F_GETFD) == -1 && errno == EBADF));
      group.wait();
    }
  });
}

TEST_CASE("a number that is used again: nothing of the old connection reaches the new one") {
  with_runtime([] {
    std::atomic<int> wrong{0};
    int reused = 0;
    for (int i = 0; i != scaled(2'000, 100); ++i) {
      auto [old_client, old_server] = unix_pair();
      const int number = old_client.native_handle();
      thrum::wait_group group;
      group.go([&c = old_client, &wrong] {
        char buffer[8];
        std::error_code error;
        const std::size_t n = c.read(buffer, error);
        wrong += n != 0 || !(error == std::errc::operation_canceled || !error);
      });
      if (i % 3 == 0) {
        thrum::this_goroutine::yield();
      }
      old_client.set_read_deadline(steady::now() + 1h);
      old_server.close();  // an event for the old number is on its way
      old_client.close();
      auto [client, server] = unix_pair();
      reused += client.native_handle() == number || server.native_handle() == number;
      char buffer[8];
      std::error_code error;
      client.set_read_deadline(steady::now() + (i % 10 == 0 ? 200us : 1us));
      wrong += client.read(buffer, error) != 0 || !is_timeout(error);
      client.set_read_deadline(time_point::max());
      server.write("new");
      wrong += client.read(buffer, error) != 3 || error;
      group.wait();
    }
    CHECK(wrong == 0);
    CHECK(reused > 0);
  });
}

TEST_CASE("FileCloseRace: half closing beside close never touches the number's next owner") {
  with_runtime([] {
    const int rounds = scaled(5'000, 200);
    std::atomic<int> wrong{0};
    std::atomic<conn*> current{nullptr};
    std::atomic<int> started{0};
    std::atomic<int> finished{0};
    std::thread other([&] {
      while (finished != rounds) {
        if (conn* const c = current.exchange(nullptr)) {
          ++started;
          const std::error_code error = error_of([&] { c->close_write(); });
          wrong += error && !is_cancelled(error);
          ++finished;
        }
        std::this_thread::yield();
      }
    });
    for (int i = 0; i != rounds; ++i) {
      auto [doomed, peer] = unix_pair();
      current = &doomed;
      while (started == i) {
        std::this_thread::yield();
      }
      doomed.close();
      auto [next, next_peer] = unix_pair();
      while (finished == i) {
        std::this_thread::yield();
      }
      char buffer[4];
      std::error_code error;
      next.write("n", error);
      wrong += static_cast<bool>(error);
      next_peer.write("p", error);
      wrong += static_cast<bool>(error);
      wrong += next.read(buffer, error) != 1;
    }
    thrum::blocking([&] { other.join(); });
    CHECK(wrong == 0);
  });
}

TEST_CASE("many who use, many who close: each call ends, and the descriptor is closed once") {
  with_runtime([] {
    const std::size_t before = support::open_descriptors();
    for (int i = 0; i != scaled(300, 20); ++i) {
      auto [client, server] = tcp_pair();
      std::atomic<int> wrong{0};
      thrum::wait_group group;
      const auto fine = [](const std::error_code& e) {
        return !e || is_cancelled(e) || is_timeout(e) || e == std::errc::broken_pipe ||
               e == std::errc::connection_reset;
      };
      for (int k = 0; k != 3; ++k) {
        group.go([&c = client, &wrong, fine] {
          char buffer[8];
          std::error_code error;
          while (c.read(buffer, error) != 0) {
          }
          wrong += !fine(error);
        });
        group.go([&s = server, &wrong, fine] {
          std::error_code error;
          for (int n = 0; n != 5 && !error; ++n) {
            s.write("something", error);
          }
          wrong += !fine(error);
        });
        group.go([&c = client] { c.set_deadline(steady::now() + 1h); });
        group.go([&c = client, &s = server, k] { k == 0 ? s.close() : c.close(); });
      }
      group.wait();
      CHECK(wrong == 0);
    }
    CHECK(support::open_descriptors() <= before + 6);  // the poller's own
  });
}

TEST_CASE("a close that lingers for its data leaves the processor to others") {
  with_runtime(support::with_procs(1), [] {
    auto [client, server] = tcp_pair();
    support::fill(client);
    client.linger(2);
    std::atomic<bool> closing{false};
    std::atomic<bool> closed{false};
    std::atomic<int> ran{0};
    thrum::wait_group group;
    group.go([&] {
      while (!closed) {
        ran += closing;
        thrum::sleep_for(1ms);
      }
    });
    thrum::sleep_for(5ms);
    closing = true;
    client.close();
    closed = true;
    group.wait();
    CHECK(ran > 1);
  });
}
