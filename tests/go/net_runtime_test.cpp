// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The network beyond one runtime: foreign threads in every operation, with a runtime and without
// one; runtimes that stop under their connections, and connections that outlive them.

#include "support/net.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

using support::is_cancelled;
using support::is_timeout;
using support::is_unwound_at_stop;
using support::loopback;
using support::steady;
using support::tcp_pair;
using thrum::time_point;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::listener;
using thrum::net::udp_socket;

namespace {

/// Every operation of two threads with each other; the number of those that went wrong.
int use_everything(int rounds) {
  std::atomic<int> wrong{0};
  auto listener = listener::listen(loopback());
  std::thread server([&] {
    std::error_code error;
    while (conn c = listener.accept(error)) {
      char buffer[4'000];  // where a call takes long, 3 MB by few bytes take minutes
      std::error_code gone;
      while (const std::size_t n = c.read(buffer, gone)) {
        c.write(std::string_view(buffer, n), gone);
      }
      wrong += static_cast<bool>(gone);
    }
    wrong += !is_cancelled(error);
  });
  for (int i = 0; i != rounds; ++i) {
    conn c = dial(listener.local(), 60s);
    char buffer[64];
    c.set_read_deadline(steady::now() + 1ms);
    wrong += !is_timeout(error_of([&] { c.read(buffer); }));
    c.set_read_deadline(time_point::max());
    wrong += c.write("hello") != 5;
    c.wait_readable();
    wrong += c.read_full(std::span<char>(buffer, 5)) != 5;
    const std::string much(3'000'000, 'm');
    std::thread writer([&] { wrong += c.write(much) != much.size(); });
    std::string back(much.size(), '\0');
    wrong += c.read_full(back) != much.size() || back != much;
    writer.join();
    std::error_code error;
    std::thread reader([&] { c.read(buffer, error); });
    std::this_thread::sleep_for(1ms);
    c.close();
    reader.join();
    wrong += !is_cancelled(error);
  }
  auto socket = udp_socket::bind(loopback());
  std::atomic<bool> received{false};
  std::thread receiver([&] {
    char buffer[8];
    wrong += socket.recv(buffer) != 3;
    received = true;
    wrong += !is_cancelled(error_of([&] { socket.recv(buffer); }));
  });
  wrong += socket.send_to("udp", socket.local()) != 3;
  wrong += !eventually([&] { return received.load(); });
  socket.close();
  receiver.join();
  listener.close();
  server.join();
  return wrong;
}

}  // namespace

TEST_CASE("without a runtime every operation works on threads") { CHECK(use_everything(3) == 0); }

IN_RUNTIME("beside a runtime every operation works on threads") {
  const auto warm = tcp_pair();
  int wrong = -1;
  thrum::blocking([&] { wrong = use_everything(3); });
  CHECK(wrong == 0);
  std::thread foreign([&] { wrong = use_everything(3); });
  thrum::blocking([&] { foreign.join(); });
  CHECK(wrong == 0);
}

IN_RUNTIME("goroutines and threads take turns on one connection, and each byte arrives once") {
  auto [client, server] = tcp_pair();
  std::atomic<std::size_t> sent{0};
  std::atomic<std::size_t> got{0};
  std::atomic<int> wrong{0};
  thrum::wait_group readers;
  readers.go([&c = client, &got, &wrong] {
    support::on_goroutines_and_threads(3, [&] {
      char buffer[100];
      std::error_code error;
      while (const std::size_t n = c.read(buffer, error)) {
        got += n;
      }
      wrong += static_cast<bool>(error);
    });
  });
  support::on_goroutines_and_threads(3, [&s = server, &sent] {
    const std::string text(1'000, 't');
    for (int i = 0; i != scaled(300, 20); ++i) {
      sent += s.write(text);
    }
  });
  server.close_write();
  readers.wait();
  CHECK(wrong == 0);
  CHECK(got == sent);
}

IN_RUNTIME(
    "a thread's wait in a connection that a runtime watches is ended by data, close, deadline") {
  for (int i = 0; i != scaled(60, 6); ++i) {
    auto [client, server] = tcp_pair();
    char buffer[8];
    client.set_read_deadline(steady::now() + 1ms);
    CHECK(is_timeout(error_of([&c = client, &buffer] { c.read(buffer); })));  // registered now
    client.set_read_deadline(steady::now() + 1h);
    std::error_code error;
    std::size_t got = 0;
    std::thread thread([&c = client, &error, &got] {
      char own[8];
      got = c.read(own, error);
    });
    if (i % 2 == 0) {
      thrum::sleep_for(200us);
    }
    switch (i % 3) {
      case 0: server.write("abc"); break;
      case 1: client.close(); break;
      default: client.set_read_deadline(steady::now() + 1ms); break;
    }
    thrum::blocking([&] { thread.join(); });
    CHECK(got == (i % 3 == 0 ? 3U : 0U));
    CHECK((i % 3 == 0 ? !error : i % 3 == 1 ? is_cancelled(error) : is_timeout(error)));
  }
}

TEST_CASE("a stop unwinds goroutines that wait to read, write, accept, receive, or for a turn") {
  auto pair = tcp_pair();
  auto full = tcp_pair();
  support::fill(full.client);
  auto listener = listener::listen(loopback());
  auto socket = udp_socket::bind(loopback());
  char buffer[8];
  const std::string much(std::size_t{8} << 20, 'x');
  CHECK(is_unwound_at_stop([&] { pair.client.read(buffer); }));
  CHECK(is_unwound_at_stop([&] { pair.client.wait_readable(); }));
  CHECK(is_unwound_at_stop([&] { full.client.write(much); }));
  CHECK(is_unwound_at_stop([&] { listener.accept(); }));
  CHECK(is_unwound_at_stop([&] { socket.recv(buffer); }));
  std::atomic<int> unwound{0};
  with_runtime([&] {
    for (int i = 0; i != 5; ++i) {
      thrum::go([&] {
        struct at_end {
          std::atomic<int>& count;
          ~at_end() { ++count; }
        } const scope{unwound};
        char own[8];
        pair.client.read(own);
      });
    }
    REQUIRE(are_waiting(5));
  });
  CHECK(unwound == 5);
  // They can still be used: nobody has kept a turn.
  pair.server.write("abc");
  CHECK(pair.client.read(buffer) == 3);
}

TEST_CASE("a goroutine that a stop unwinds closes its connections, and their peers read the end") {
  auto [outer, inner] = tcp_pair();
  with_runtime([&c = inner] {
    thrum::go([own = std::make_shared<conn>(std::move(c))] {
      char buffer[8];
      own->read(buffer);
    });
    REQUIRE(are_waiting(1));
  });
  char buffer[8];
  CHECK(outer.read(buffer) == 0);
}

TEST_CASE(
    "a connection that outlives its runtime goes on in the next one, and on threads between") {
  auto [client, server] = tcp_pair();
  for (int i = 0; i != scaled(30, 5); ++i) {
    const auto exchange = [&c = client, &s = server] {
      thrum::wait_group group;
      group.go([&s] {
        char own[8];
        s.write(std::string_view(own, s.read(own)));
      });
      char buffer[8];
      thrum::sleep_for(50us);  // the other waits by now
      c.write("ping");
      CHECK(c.read(buffer) == 4);  // short: the next read waits first
      group.wait();
    };
    with_runtime(exchange);
    std::thread peer([&s = server] {
      char own[8];
      s.write(std::string_view(own, s.read(own)));
    });
    char buffer[8];
    client.write("between");
    CHECK(client.read(buffer) == 7);
    peer.join();
  }
}

TEST_CASE("data that comes while no runtime is there is read by the next one") {
  auto [client, server] = tcp_pair();
  char buffer[8];
  for (int i = 0; i != 5; ++i) {
    with_runtime([&c = client, &s = server, &buffer] {
      s.write("abc");
      CHECK(c.read(buffer) == 3);
      c.set_read_deadline(steady::now() + 1ms);
      CHECK(is_timeout(error_of([&] { c.read(buffer); })));
      c.set_read_deadline(time_point::max());
    });
    server.write("de");
    with_runtime([&c = client, &buffer] { CHECK(c.read(buffer) == 2); });
  }
}

TEST_CASE("a thread that waits where a runtime watched is taken over when that ends") {
  for (int i = 0; i != scaled(30, 5); ++i) {
    auto [client, server] = tcp_pair();
    std::size_t got = 0;
    std::thread thread;
    with_runtime([&c = client, &got, &thread] {
      char buffer[8];
      c.set_read_deadline(steady::now() + 100us);
      CHECK(is_timeout(error_of([&] { c.read(buffer); })));
      c.set_read_deadline(time_point::max());
      thread = std::thread([&c, &got] {
        char own[8];
        got = c.read(own);
      });
      thrum::sleep_for(1ms);
    });
    server.write("abc");
    thread.join();
    CHECK(got == 3);
  }
}

TEST_CASE("two runtimes at once share a connection: each is woken by what the other one watches") {
  auto [client, server] = tcp_pair();
  thrum::runtime first(support::environment_options());
  auto second = std::make_optional<thrum::runtime>(support::environment_options());
  const int n = scaled(300, 30);
  std::atomic<int> wrong{0};
  std::thread echo([&s = server, &second, &wrong, n] {
    second->block_on([&] {
      char buffer[8];
      for (int i = 0; i != n; ++i) {
        wrong += s.read(buffer) != 1;
        s.write("y");
      }
    });
  });
  first.block_on([&c = client, &wrong, n] {
    char buffer[8];
    for (int i = 0; i != n; ++i) {
      c.write("x");
      wrong += c.read(buffer) != 1;
    }
  });
  echo.join();
  CHECK(wrong == 0);
  // The server's end is watched by the second one, which ends while the first one waits on it.
  std::thread ender([&second] {
    std::this_thread::sleep_for(5ms);
    second.reset();
  });
  first.block_on([&c = client, &s = server] {
    thrum::wait_group group;
    std::size_t got = 0;
    group.go([&] {
      char own[8];
      got = s.read(own);
    });
    thrum::sleep_for(30ms);
    c.write("abc");
    group.wait();
    CHECK(got == 3);
  });
  ender.join();
}
