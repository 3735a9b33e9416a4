// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of TCP, re-created from their descriptions: what a stream carries, and in which
// pieces.

#include "support/net.hpp"
#include "support/test.hpp"

using support::is_cancelled;
using support::is_timeout;
using support::local_pair;
using support::loopback;
using support::steady;
using support::tcp_pair;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::listener;

namespace {

/// Sends back whatever comes on each connection, until the listener is closed.
void serve_echo(listener& from, thrum::wait_group& group) {
  group.go([&from, &group] {
    std::error_code error;
    while (conn c = from.accept(error)) {
      group.go([c = std::make_shared<conn>(std::move(c))] {
        std::error_code gone;
        char buffer[4096];
        while (const std::size_t n = c->read(buffer, gone)) {
          c->write(std::string_view(buffer, n), gone);
        }
      });
    }
  });
}

}  // namespace

IN_RUNTIME("TCPServer: an echo comes back over IPv4 and IPv6, each end knows both addresses") {
  std::vector<std::string> places{"127.0.0.1:0"};
  if (support::has_ipv6()) {
    places.push_back("[::1]:0");
  }
  for (const std::string& place : places) {
    auto listener = listener::listen(place);
    conn client = dial(listener.local());
    conn server = listener.accept();
    CHECK(client.remote() == listener.local());
    CHECK(server.local() == listener.local());
    CHECK(client.local() == server.remote());
    client.write("hello");
    char buffer[16];
    CHECK(server.read(buffer) == 5);
    server.write(std::string_view(buffer, 5));
    CHECK(client.read(buffer) == 5);
    CHECK(std::string_view(buffer, 5) == "hello");
  }
}

IN_RUNTIME(
    "ZeroByteRead: a read without a buffer returns 0 at once, with data, without, at the end") {
  for (auto& pair : {tcp_pair(), local_pair()}) {
    auto& client = const_cast<conn&>(pair.client);
    auto& server = const_cast<conn&>(pair.server);
    client.set_read_deadline(steady::now() + support::long_time);  // the failure is a timeout
    std::error_code error;
    const std::span<char> nothing;
    char buffer[8];
    CHECK(client.read(nothing, error) == 0);
    CHECK_FALSE(error);
    server.write("abc");
    CHECK(client.read(nothing, error) == 0);
    CHECK_FALSE(error);
    CHECK(client.read(buffer) == 3);
    CHECK(client.read(nothing, error) == 0);  // after a short read
    CHECK_FALSE(error);
    CHECK(client.write("") == 0);
    server.close();
    CHECK(client.read(nothing, error) == 0);
    CHECK_FALSE(error);
    client.close();
    CHECK(client.read(nothing, error) == 0);
    CHECK(is_cancelled(error));
  }
}

IN_RUNTIME(
    "EndlessWrite: a writer that the peer leaves waiting waits, and does not ask again and again") {
  const support::stream_pair pair;
  thrum::io::descriptor writer(pair.ends[0], "test");
  thrum::io::descriptor reader(pair.ends[1], "test");
  int full = 0;
  const std::string block(100'000, 'x');
  // On a busy machine the time may be over before the pair is full.
  for (auto time = 200ms; full == 0 && time < support::long_time; time *= 2) {
    writer.set_deadline(thrum::io::side::write, steady::now() + time);
    thrum::os::io_result result = 1;
    while (result > 0) {
      result = writer.run(thrum::io::side::write, [&](thrum::os::handle fd) {
        const auto n = thrum::os::send(fd, block.data(), block.size());
        full += n == thrum::os::would_block;
        return n;
      });
    }
    CHECK(result == thrum::sched::io_deadline_exceeded);
  }
  CHECK(full > 0);
  CHECK(full <= 20);
}

IN_RUNTIME("a reader that waits for a long time is not woken meanwhile") {
  auto ends = tcp_pair();
  int calls = 0;
  thrum::io::descriptor reader(
      thrum::os::handle_of(thrum::os::duplicate(ends.client.native_handle())), "test");
  reader.set_deadline(thrum::io::side::read, steady::now() + 100ms);
  for (int i = 0; i != 3; ++i) {
    ends.server.write("x");  // an edge that is not for it
  }
  char buffer[2];
  thrum::os::io_result result = 1;
  while (result > 0) {
    result = reader.run(thrum::io::side::read, [&](thrum::os::handle fd) {
      ++calls;
      return thrum::os::receive(fd, buffer, sizeof buffer);
    });
  }
  CHECK(result == thrum::sched::io_deadline_exceeded);
  CHECK(calls <= 20);
}

IN_RUNTIME("TCPConcurrentAccept: ten goroutines that accept and ten that dial lose no connection") {
  auto listener = listener::listen(loopback());
  constexpr int workers = 10;
  const int each = scaled(100, 10);
  std::atomic<int> accepted{0};
  std::atomic<int> dialled{0};
  thrum::wait_group acceptors;
  thrum::wait_group dialers;
  for (int i = 0; i != workers; ++i) {
    acceptors.go([&] {
      std::error_code error;
      while (conn c = listener.accept(error)) {
        c.write("a", error);
        ++accepted;
      }
    });
    dialers.go([&] {
      for (int n = 0; n != each; ++n) {
        std::error_code error;
        conn c = dial(listener.local(), 60s, error);
        char buffer[1];
        dialled += c.read(buffer, error) == 1;
      }
    });
  }
  dialers.wait();
  listener.close();
  acceptors.wait();
  CHECK(dialled == workers * each);
  CHECK(accepted == workers * each);
}

IN_RUNTIME("TCPStress: many messages on many connections come back as they were sent") {
  auto listener = listener::listen(loopback());
  thrum::wait_group servers;
  serve_echo(listener, servers);
  std::atomic<int> wrong{0};
  in_goroutines(20, [&](int i) {
    conn c = dial(listener.local());
    std::string text(512, 's');
    text[0] = static_cast<char>(i);
    std::string back(text.size(), '\0');
    for (int n = 0; n != scaled(500, 20); ++n) {
      text[1] = static_cast<char>(n);
      c.write(text);
      wrong += c.read_full(back) != text.size() || back != text;
    }
  });
  listener.close();
  servers.wait();
  CHECK(wrong == 0);
}

TEST_CASE("a message that comes in pieces right after each other is read to the end each time") {
  // The last read may have been short, and the next piece there before it returned.
  with_runtime([] {
    auto ends = tcp_pair();
    const int n = scaled(20'000, 500);
    thrum::wait_group group;
    group.go([&s = ends.server, n] {
      for (int i = 0; i != n; ++i) {
        s.write("abc");
        s.write("de");
        if (i % 64 == 0) {
          thrum::this_goroutine::yield();
        }
      }
      s.close_write();
    });
    std::size_t got = 0;
    char buffer[64];
    ends.client.set_read_deadline(steady::now() + support::long_time);
    while (const std::size_t part = ends.client.read(buffer)) {
      got += part;
    }
    group.wait();
    CHECK(got == static_cast<std::size_t>(n) * 5);
  });
}

IN_RUNTIME("one byte out of line: what comes before and after it is read without another event") {
  for (int i = 0; i != scaled(200, 20); ++i) {
    auto ends = tcp_pair();
    ends.client.set_read_deadline(steady::now() + support::long_time);
    char buffer[64];
    ends.server.write("1");
    CHECK(ends.client.read(buffer) == 1);
    ends.server.write("before");
    CHECK(::send(ends.server.native_handle(), "!", 1, MSG_OOB) == 1);
    ends.server.write("after");
    CHECK(ends.client.read_full(std::span<char>(buffer, 11)) == 11);
    CHECK(std::string_view(buffer, 11) == "beforeafter");
  }
}

IN_RUNTIME("linger(0): close resets the connection, so that its peer can neither read nor write") {
  for (int i = 0; i != scaled(50, 5); ++i) {
    auto ends = tcp_pair();
    std::error_code error;
    thrum::wait_group group;
    group.go([&c = ends.client, &error] {
      char buffer[8];
      c.read(buffer, error);
    });
    if (i % 2 == 0) {
      thrum::sleep_for(100us);
    }
    ends.server.linger(0);
    ends.server.close();
    group.wait();
    CHECK(error == std::errc::connection_reset);
    CHECK(error_of([&] { ends.client.write("x"); }));
  }
}

IN_RUNTIME("wait_readable: it returns with data, which stays there, and at the end of the stream") {
  auto ends = tcp_pair();
  std::error_code error;
  ends.client.set_read_deadline(steady::now() + 10ms);
  ends.client.wait_readable(error);
  CHECK(is_timeout(error));
  ends.client.set_read_deadline(thrum::time_point::max());
  ends.server.write("abc");
  char buffer[8];
  for (int i = 0; i != 3; ++i) {
    ends.client.wait_readable();
  }
  CHECK(ends.client.read(buffer) == 3);
  ends.server.close();
  ends.client.wait_readable();
  CHECK(ends.client.read(buffer) == 0);
}

IN_RUNTIME("ten thousand connections at once, each of which is served") {
  const auto wanted = static_cast<std::size_t>(support::live_goroutines(10'000));
  const std::size_t room = (support::allow_descriptors() - 200) / 2;
  const std::size_t n = std::min(wanted, room);
  if (n < wanted) {
    WARN("the limit of descriptors allows " << n << " connections only");
  }
  auto listener = listener::listen(loopback());
  thrum::wait_group servers;
  serve_echo(listener, servers);
  std::vector<conn> all;
  all.reserve(n);
  for (std::size_t i = 0; i != n; ++i) {
    all.push_back(dial(listener.local()));
  }
  for (std::size_t i = 0; i != n; ++i) {
    all[i].write(std::string_view(reinterpret_cast<const char*>(&i), sizeof i));
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i != n; ++i) {
    std::size_t back = 0;
    wrong += all[i].read_full(std::as_writable_bytes(std::span(&back, 1))) != sizeof back;
    wrong += back != i;
  }
  CHECK(wrong == 0);
  all.clear();
  listener.close();
  servers.wait();
}
