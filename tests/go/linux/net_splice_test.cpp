// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of splice between connections, re-created from their descriptions on io::copy.

#include "support/net.hpp"
#include "support/test.hpp"

using support::conn_pair;
namespace io = thrum::io;
namespace net = thrum::net;

namespace {

/// Both kinds of connections as the source, and both as the destination.
template <class F>
void with_each_splice(F f) {
  with_runtime([&] {
    for (int kinds = 0; kinds != 4; ++kinds) {
      conn_pair up = (kinds & 1) == 0 ? support::tcp_pair() : support::local_pair();
      conn_pair down = (kinds & 2) == 0 ? support::tcp_pair() : support::local_pair();
      f(up.client, up.server, down.client, down.server);
    }
  });
}

}  // namespace

TEST_CASE("splice Simple: one message goes through whole") {
  with_each_splice([](net::conn& from, net::conn& in, net::conn& out, net::conn& to) {
    from.write(std::string_view("splice test\n"));
    from.close();
    CHECK(io::copy(in, out) == 12);
    out.close();
    CHECK(to.read_all() == "splice test\n");
  });
}

TEST_CASE("splice MultipleWrite: writes that come one by one go through one by one") {
  with_each_splice([](net::conn& from, net::conn& in, net::conn& out, net::conn& to) {
    constexpr int count = 10;
    const std::string message(std::size_t{64} * 1024, 'x');
    auto copying = thrum::spawn([&] { return io::copy(in, out); });
    std::string read(message.size(), '\0');
    for (int i = 0; i != count; ++i) {  // the next one only when this one has arrived
      from.write(message);
      CHECK(to.read_full(read) == message.size());
      CHECK((read == message));
    }
    from.close();
    CHECK(copying.join() == count * message.size());
  });
}

TEST_CASE("splice Big: more than any buffer on the way holds") {
  with_each_splice([](net::conn& from, net::conn& in, net::conn& out, net::conn& to) {
    const std::string big((std::size_t{5} << 20) + 3, 'b');
    auto feeding = thrum::spawn([&] {
      from.write(big);
      from.close();
    });
    auto copying = thrum::spawn([&] {
      const std::uint64_t n = io::copy(in, out);
      out.close();
      return n;
    });
    CHECK((to.read_all() == big));
    CHECK(copying.join() == big.size());
    feeding.join();
  });
}

TEST_CASE("splice ReaderAtEOF: a copy of what has ended is nothing, and the destination goes on") {
  with_each_splice([](net::conn& from, net::conn& in, net::conn& out, net::conn& to) {
    from.close();
    CHECK(io::copy(in, out) == 0);
    out.write(std::string_view("goodbye"));
    out.close();
    CHECK(to.read_all() == "goodbye");
  });
}

IN_RUNTIME("splice Issue25985: proxies whose clients and servers hang up at any time all end") {
  net::listener behind = net::listener::listen(support::loopback());
  net::listener front = net::listener::listen(support::loopback());
  const net::endpoint to = behind.local();
  constexpr int count = 100;
  std::atomic<int> ended{0};
  thrum::task_group all;
  all.go([&] {
    for (int i = 0; i != count; ++i) {  // takes a part, and hangs up
      net::conn c = behind.accept();
      std::error_code error;
      std::string some(static_cast<std::size_t>(i) * 2000 + 1, '\0');
      c.read_full(some, error);
    }
  });
  all.go([&] {
    for (int i = 0; i != count; ++i) {
      all.go([&, in = front.accept()]() mutable {
        std::error_code error;
        net::conn out = net::dial(to);
        auto back = thrum::spawn([&] {
          std::error_code of_back;
          io::copy(out, in, of_back);
          in.close();
        });
        io::copy(in, out, error);
        out.close();
        back.join();
        ++ended;
      });
    }
  });
  for (int i = 0; i != count; ++i) {
    net::conn client = net::dial(front.local());
    std::error_code error;
    client.write(std::string(100'000, 'c'), error);
  }
  all.wait();
  CHECK(ended == count);
}
