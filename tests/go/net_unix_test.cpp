// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of Unix sockets, re-created from their descriptions: streams and datagrams, by path
// and by abstract name.

#include "support/folder.hpp"
#include "support/local_name.hpp"
#include "support/net.hpp"
#include "support/test.hpp"

#include <filesystem>

#include <unistd.h>

using support::is_timeout;
using support::steady;
using support::unused_local_name;
using thrum::net::address_family;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::endpoint;
using thrum::net::listener;
using thrum::net::udp_socket;

namespace {

endpoint in(const support::folder& directory, const char* name) {
  return endpoint::local((directory / name).string());
}

void echo_once(const endpoint& where) {
  auto listener = listener::listen(where);
  CHECK(listener.local() == where);
  conn client = dial(where);
  conn server = listener.accept();
  CHECK(client.remote() == where);
  CHECK(server.local() == where);
  client.write("hello");
  client.close_write();
  char buffer[16];
  CHECK(server.read(buffer) == 5);
  CHECK(server.read(buffer) == 0);
  server.write("bye");
  CHECK(client.read(buffer) == 3);
  CHECK(std::string_view(buffer, 3) == "bye");
}

}  // namespace

IN_RUNTIME("UnixServer: a stream by path and by abstract name carries both directions") {
  const support::folder place;
  echo_once(in(place, "stream"));
  echo_once(unused_local_name());
  echo_once(endpoint("unix:" + (place / "text").string()));
}

IN_RUNTIME("a closed listener has removed its path, unless it was asked to leave it") {
  const support::folder place;
  const endpoint where = in(place, "s");
  auto first = listener::listen(where);
  CHECK(std::filesystem::exists(place / "s"));
  CHECK(error_of([&] { listener::listen(where); }) == std::errc::address_in_use);
  CHECK(std::filesystem::exists(place / "s"));
  first.close();
  CHECK_FALSE(std::filesystem::exists(place / "s"));
  CHECK(error_of([&] { dial(where); }) == std::errc::no_such_file_or_directory);
  { const auto second = listener::listen(where, {.remove_path = false}); }
  CHECK(std::filesystem::exists(place / "s"));
  CHECK(error_of([&] { dial(where); }) == std::errc::connection_refused);
}

IN_RUNTIME("a dial to a Unix listener whose queue is full fails, and does not wait for ever") {
  auto listener = listener::listen(unused_local_name(), {.backlog = 0});
  std::vector<conn> queued;
  std::error_code error;
  while (!error && queued.size() < 100) {
    queued.push_back(dial(listener.local(), 20s, error));
  }
  CHECK(error == std::errc::resource_unavailable_try_again);
  listener.accept();
  CHECK(dial(listener.local()));
}

IN_RUNTIME("UnixgramServer: datagrams by path and by abstract name come whole, with their sender") {
  const support::folder place;
  for (const auto& [a, b] : {std::pair(in(place, "a"), in(place, "b")),
                             std::pair(unused_local_name(), unused_local_name())}) {
    auto first = udp_socket::bind(a);
    auto second = udp_socket::bind(b);
    CHECK(first.local() == a);
    first.send_to("one", b);
    first.send_to("", b);
    first.send_to("three", b);
    char buffer[16];
    const auto one = second.recv_from(buffer);
    CHECK(one.size == 3);
    CHECK(one.from == a);
    CHECK_FALSE(one.cut_off);
    CHECK(second.recv(buffer) == 0);
    const auto three = second.recv_from(std::span<char>(buffer, 2));
    CHECK(three.size == 2);
    CHECK(three.cut_off);
    second.set_read_deadline(steady::now() + 5ms);
    CHECK(is_timeout(error_of([&] { second.recv(buffer); })));
  }
}

IN_RUNTIME("a datagram from a Unix socket without name has no sender") {
  auto receiver = udp_socket::bind(unused_local_name());
  auto sender = udp_socket::connect(receiver.local());
  CHECK(sender.send("x") == 1);
  char buffer[4];
  const auto got = receiver.recv_from(buffer);
  CHECK(got.size == 1);
  CHECK(got.from.family() == address_family::none);
}

IN_RUNTIME("a Unix datagram waits until its receiver has room") {
  auto receiver = udp_socket::bind(unused_local_name());
  auto sender = udp_socket::connect(receiver.local());
  const int n = scaled(5'000, 500);
  std::atomic<int> failed{0};
  thrum::wait_group group;
  group.go([&] {
    for (int i = 0; i != n; ++i) {
      const std::string_view text(reinterpret_cast<const char*>(&i), sizeof i);
      failed += static_cast<bool>(error_of([&] { sender.send(text); }));
    }
  });
  int wrong = 0;
  for (int i = 0; i != n; ++i) {
    int got = -1;
    wrong += receiver.recv(std::as_writable_bytes(std::span(&got, 1))) != sizeof got;
    wrong += got != i;
  }
  group.wait();
  CHECK(wrong == 0);
  CHECK(failed == 0);
}

IN_RUNTIME("a Unix stream loses nothing, in whatever pieces it is written and read") {
  auto [client, server] = support::local_pair();
  std::string text(scaled(std::size_t{2'000'000}), '\0');
  for (std::size_t i = 0; i != text.size(); ++i) {
    text[i] = static_cast<char>(i * 7 >> 4);
  }
  thrum::wait_group group;
  group.go([&s = server, &text] {
    std::size_t size = 1;
    for (std::size_t at = 0; at != text.size();) {
      const std::size_t n = std::min(size, text.size() - at);
      at += s.write(std::string_view(text).substr(at, n));
      size = size * 5 % 8'191 + 1;
    }
    s.close();
  });
  std::string got;
  std::string buffer(8'192, '\0');
  for (std::size_t n = 1; n != 0;) {
    n = client.read(std::span<char>(buffer).first(1 + got.size() % buffer.size()));
    got.append(buffer, 0, n);
  }
  group.wait();
  CHECK((got == text));
}
