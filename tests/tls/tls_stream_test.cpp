// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// net/tls.hpp: bytes through our clients and our servers.

#include <thrum/net/tls.hpp>

#include "support/test.hpp"
#include "tls/pairs.hpp"

#include <openssl/ssl.h>

namespace io = thrum::io;
namespace net = thrum::net;
using net::tls_conn;
using support::agreed_tls_pair;
using support::new_tls_pair;
using support::read_text;
using support::some_bytes;
using support::tls_pair;

static_assert(io::readable_stream<tls_conn> && io::writable_stream<tls_conn&>);

IN_RUNTIME("tls: what one writes the other reads, both ways, and then the end") {
  tls_pair made = new_tls_pair();
  auto server = thrum::spawn([&] {
    made.server.write(read_text(made.server, 5));
    std::string rest = made.server.read_all();
    made.server.write(rest + "!");
    made.server.close_write();
    return rest;
  });
  made.client.write(std::string_view("hello"));  // with the handshake
  CHECK(read_text(made.client, 5) == "hello");
  CHECK(made.client.version() == "TLSv1.3");
  CHECK(!made.client.cipher().empty());
  CHECK(!made.client.resumed());
  CHECK(made.client.protocol().empty());
  CHECK(made.server.server_name() == "localhost");
  CHECK(made.client.remote() == made.server.local());
  made.client.write(std::string_view("world"));
  made.client.close_write();
  CHECK(made.client.read_all() == "world!");
  CHECK(server.join() == "world");
  char one;
  CHECK(made.client.read({&one, 1}) == 0);  // still the end
}

TEST_CASE("tls: works between threads of others, too") {
  tls_pair made = new_tls_pair();
  std::thread server([&] {
    made.server.write(read_text(made.server, 5));
    made.server.close_write();
    made.server.read_all();
  });
  made.client.write(std::string_view("hello"));
  CHECK(made.client.read_all() == "hello");
  made.client.close_write();
  server.join();
}

IN_RUNTIME("tls: one reads while another writes, in both directions, with whole writes") {
  tls_pair made = new_tls_pair();
  const std::string bytes = some_bytes(std::size_t{3} << 20);
  const auto sends = [&](tls_conn& to) {
    std::string_view left = bytes;
    for (std::size_t n = 1; !left.empty(); n = n * 3 + 1) {
      to.write(left.substr(0, n));
      left.remove_prefix(std::min(n, left.size()));
    }
    to.close_write();
  };
  auto first = thrum::spawn([&] { sends(made.client); });
  auto second = thrum::spawn([&] { sends(made.server); });
  auto third = thrum::spawn([&] { return made.server.read_all() == bytes; });
  CHECK((made.client.read_all() == bytes));
  CHECK(third.join());
  first.join();
  second.join();
}

IN_RUNTIME("tls: several writers take turns, each with a whole write") {
  tls_pair made = agreed_tls_pair();
  constexpr std::size_t each = 200'000;
  {
    thrum::task_group writers;
    for (const char letter : {'a', 'b', 'c', 'd'}) {
      writers.go([&, letter] { made.client.write(std::string(each, letter)); });
    }
    std::string runs;
    for (int i = 0; i < 4; ++i) {
      const std::string text = read_text(made.server, each);
      CHECK(text.find_first_not_of(text.front()) == std::string::npos);
      runs += text.front();
    }
    writers.wait();
    std::sort(runs.begin(), runs.end());
    CHECK(runs == "abcd");
  }
}

IN_RUNTIME("tls: one byte at a time, and many at once") {
  tls_pair made = agreed_tls_pair();
  const std::string bytes = some_bytes(40'000);
  auto writer = thrum::spawn([&] {
    made.client.write(bytes);
    for (std::size_t i = 0; i < 1000; ++i) {
      made.client.write(std::string_view(bytes).substr(i, 1));
    }
    made.client.write(std::string_view());
    made.client.close_write();
  });
  std::string read;
  char one;
  CHECK(made.server.read(std::span<char>()) == 0);
  while (made.server.read({&one, 1}) != 0) {
    read += one;
  }
  CHECK((read == bytes + bytes.substr(0, 1000)));
  writer.join();
}

IN_RUNTIME("tls: buffered says what a wait for the connection alone would miss") {
  tls_pair made = agreed_tls_pair();
  CHECK(made.client.buffered() == 0);
  made.server.write(std::string_view("abc"));
  CHECK(read_text(made.client, 1) == "a");
  CHECK(made.client.buffered() == 2);
  CHECK(read_text(made.client, 2) == "bc");
  CHECK(made.client.buffered() == 0);
}

IN_RUNTIME("tls: keys change when the peer asks for it, during reads and writes") {
  tls_pair made = agreed_tls_pair();
  for (int i = 0; i < 3; ++i) {
    CHECK(SSL_key_update(made.client.native_session(), SSL_KEY_UPDATE_REQUESTED) == 1);
    made.client.write(std::string_view("ping"));
    CHECK(read_text(made.server, 4) == "ping");
    made.server.write(std::string_view("pong"));
    CHECK(read_text(made.client, 4) == "pong");
  }
}

IN_RUNTIME("tls: a buffered reader and a copy go through it as through any stream") {
  tls_pair made = agreed_tls_pair();
  io::memory_pipe inside;
  auto copies = thrum::spawn([&] {
    const std::uint64_t n = io::copy(inside.second, made.client);
    made.client.close_write();
    return n;
  });
  inside.first.write(std::string_view("one\ntwo\n"));
  inside.first.close();
  io::buffered_reader lines(made.server);
  CHECK(lines.read_line() == "one");
  CHECK(lines.read_line() == "two");
  CHECK(!lines.read_line());
  CHECK(copies.join() == 8);
}
