// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of closing, re-created from their descriptions: which waits end, what fails afterwards, what the
// peer sees, and what happens to the number.

#include "support/net.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

using support::is_cancelled;
using support::is_timeout;
using support::local_pair;
using support::loopback;
using support::steady;
using support::tcp_pair;
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

IN_RUNTIME(
    "CloseUnblocksRead, ClosingListener, CloseUnblocksReadUDP: every call that waits is "
    "cancelled") {
  char buffer[1];
  for (auto& pair : {tcp_pair(), local_pair()}) {
    auto& c = const_cast<conn&>(pair.client);
    CHECK(cancelled_by(
              5, [&](std::error_code& error) { c.read(buffer, error); }, [&] { c.close(); }) == 5);
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
            5, [&](std::error_code& error) { error = error_of([&] { socket.recv_from(buffer); }); },
            [&] { socket.close(); }) == 5);
}

IN_RUNTIME("ConnClose: after close everything fails with operation_canceled, and nothing hangs") {
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
}

IN_RUNTIME("after close, half closing and setting options fail with operation_canceled, too") {
  auto ends = tcp_pair();
  ends.client.close();
  CHECK(is_cancelled(error_of([&] { ends.client.close_write(); })));
  CHECK(is_cancelled(error_of([&] { ends.client.close_read(); })));
  CHECK(is_cancelled(error_of([&] { ends.client.no_delay(true); })));
  CHECK(is_cancelled(error_of([&] { ends.client.keep_alive({}); })));
  CHECK(is_cancelled(error_of([&] { ends.client.linger(0); })));
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

IN_RUNTIME("TCPListenAfterClose: accept fails after close, and the port can be listened on again") {
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
}

IN_RUNTIME("PacketConnClose: after close datagrams fail, and the port can be bound again") {
  auto first = udp_socket::bind(loopback());
  const auto where = first.local();
  first.close();
  char buffer[1];
  CHECK(is_cancelled(error_of([&] { first.recv_from(buffer); })));
  CHECK(is_cancelled(error_of([&] { first.send_to("x", where); })));
  CHECK(udp_socket::bind(where).local() == where);
}

IN_RUNTIME("CloseWrite: the peer reads the end, and still can be read from") {
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
}

IN_RUNTIME("CloseWrite: it ends a read of the peer that waits already") {
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
}

IN_RUNTIME("CloseRead: a read that waits, and each later one, gives the end of the stream") {
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
}

IN_RUNTIME("whatever was written before close arrives, and then the end") {
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
}

IN_RUNTIME("close returns when the number is free: the next descriptor may have it") {
  for (int i = 0; i != scaled(200, 20); ++i) {
    auto [client, server] = local_pair();
    const auto number = client.native_handle();
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
    CHECK_FALSE(support::is_open_socket(number));
    group.wait();
  }
}

IN_RUNTIME("a number that is used again: nothing of the old connection reaches the new one") {
  std::atomic<int> wrong{0};
  int reused = 0;
  for (int i = 0; i != scaled(2'000, 100); ++i) {
    auto [old_client, old_server] = local_pair();
    const auto number = old_client.native_handle();
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
    auto [client, server] = local_pair();
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
}

IN_RUNTIME("FileCloseRace: half closing beside close never touches the number's next owner") {
  // A round needs both threads on a processor in turns. A busy machine does 200 of them.
  const int rounds = scaled(5'000, 200);
  const int least = 200;
  const auto enough = steady::now() + 10s;
  std::atomic<int> wrong{0};
  std::atomic<conn*> current{nullptr};
  std::atomic<int> started{0};
  std::atomic<int> finished{0};
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      if (conn* const c = current.exchange(nullptr)) {
        ++started;
        const std::error_code error = error_of([&] { c->close_write(); });
        wrong += error && !is_cancelled(error);
        ++finished;
      }
      std::this_thread::yield();
    }
  });
  for (int i = 0; i != rounds && (i < least || steady::now() < enough); ++i) {
    auto [doomed, peer] = local_pair();
    current = &doomed;
    while (started == i) {
      std::this_thread::yield();
    }
    doomed.close();
    auto [next, next_peer] = local_pair();
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
  over = true;
  thrum::blocking([&] { other.join(); });
  CHECK(wrong == 0);
}

IN_RUNTIME("close waits for a call that only looks at the number, and later calls are refused") {
  const support::stream_pair pair;
  thrum::io::descriptor used(pair.ends[0], "test");
  const thrum::io::descriptor other(pair.ends[1], "test");
  std::atomic<bool> inside{false};
  std::atomic<bool> closed{false};
  bool closed_meanwhile = false;
  bool open_meanwhile = false;
  thrum::os::io_result later = 0;
  std::thread user([&] {
    used.use([&](thrum::os::handle fd) {
      inside = true;
      while (used.use([](thrum::os::handle) { return thrum::os::io_result{0}; }) == 0) {
      }
      later = used.use([](thrum::os::handle) { return thrum::os::io_result{0}; });
      std::this_thread::sleep_for(5ms);
      closed_meanwhile = closed;
      open_meanwhile = support::is_open(fd);
      return thrum::os::io_result{0};
    });
  });
  CHECK(eventually([&] { return inside.load(); }));
  CHECK(used.close());
  closed = true;
  thrum::blocking([&] { user.join(); });
  CHECK(later == thrum::os::cancelled);
  CHECK_FALSE(closed_meanwhile);
  CHECK(open_meanwhile);
  CHECK_FALSE(used.close());
}

IN_RUNTIME("many goroutines use and close a descriptor: each call ends, and it is closed once") {
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
}

IN_RUNTIME("a close that lingers for its data leaves the processor to others",
           support::with_procs(1)) {
  if (thrum::runtime::current()->poller() == thrum::poller_kind::io_uring) {
    return;  // the kernel completes something on this thread, and the close may be over at once
  }
  auto [client, server] = tcp_pair();
  support::fill(client);
  client.linger(60);
  std::atomic<bool> closing{false};
  std::atomic<bool> closed{false};
  std::atomic<int> ran{0};
  thrum::wait_group group;
  group.go([&, &s = server] {
    while (!closed && ran < 2) {
      ran += closing;
      thrum::sleep_for(1ms);
    }
    s.close();  // ends the other close
  });
  thrum::sleep_for(5ms);
  closing = true;
  client.close();
  closed = true;
  group.wait();
  CHECK(ran > 1);
}
