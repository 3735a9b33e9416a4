// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of large and gathered writes, re-created from their descriptions: one after the other,
// in pieces, and from files.

#include <thrum/io/temporary.hpp>

#include "support/folder.hpp"
#include "support/net.hpp"
#include "support/test.hpp"

using support::is_timeout;
using support::steady;
using support::tcp_pair;

namespace {

std::string pattern(std::size_t n) {
  std::string text(n, '\0');
  for (std::size_t i = 0; i != n; ++i) {
    text[i] = static_cast<char>(i * 2'654'435'761U >> 13);
  }
  return text;
}

/// A file that holds the text, and is removed with the object.
struct temporary_file {
  explicit temporary_file(const std::string& text) {
    place.write("a", text);
    file = thrum::io::file::open((place / "a").string());
  }
  thrum::os::handle number() const { return file.native_handle(); }

  support::folder place;
  thrum::io::file file;
};

}  // namespace

IN_RUNTIME("two writes at the same time do not mix, however large") {
  auto [client, server] = tcp_pair();
  constexpr std::size_t size = 3'000'000;
  thrum::wait_group group;
  for (const char letter : {'a', 'b', 'c'}) {
    group.go([&s = server, letter] { s.write(std::string(size, letter)); });
  }
  int mixed = 0;
  std::string text(size, '\0');
  for (int i = 0; i != 3; ++i) {
    CHECK(client.read_full(text) == size);
    mixed += text.find_first_not_of(text[0]) != std::string::npos;
  }
  group.wait();
  CHECK(mixed == 0);
}

IN_RUNTIME("Buffers_WriteTo: pieces are written as one, empty ones, many and large ones, too") {
  auto [client, server] = tcp_pair();
  const std::string text = pattern(2'000'000);
  std::vector<std::span<const std::byte>> pieces;
  const auto bytes = std::as_bytes(std::span(text));
  std::size_t at = 0;
  for (std::size_t size = 0; at != text.size(); size = (size * 3 + 1) % 20'011) {
    const std::size_t n = std::min(size, text.size() - at);
    pieces.push_back(bytes.subspan(at, n));
    at += n;
  }
  std::size_t sent = 0;
  thrum::wait_group group;
  group.go([&s = server, &pieces, &sent] { sent = s.write_v(pieces); });
  std::string got(text.size(), '\0');
  CHECK(client.read_full(got) == text.size());
  group.wait();
  CHECK(sent == text.size());
  CHECK((got == text));
  CHECK(server.write_v({}) == 0);
  client.close();
  server.set_write_deadline(steady::now());
  std::error_code error;
  CHECK(server.write_v(pieces, error) == 0);
  CHECK(is_timeout(error));
}

IN_RUNTIME("Sendfile: a part of a file, all of it, and what is beyond its end") {
  auto [client, server] = tcp_pair();
  const std::string text = pattern(3'000'000);
  const temporary_file file(text);
  const auto exchange = [&c = client, &s = server, &file](std::uint64_t offset, std::uint64_t n,
                                                          std::size_t expected) {
    std::uint64_t sent = 0;
    thrum::wait_group group;
    group.go([&] { sent = s.send_file(file.number(), offset, n); });
    std::string got(expected, '\0');
    c.read_full(got);
    group.wait();
    CHECK(sent == expected);
    return got;
  };
  CHECK((exchange(0, text.size(), text.size()) == text));
  CHECK((exchange(1'000, 2'000'000, 2'000'000) == text.substr(1'000, 2'000'000)));
  CHECK((exchange(2'999'990, 1'000, 10) == text.substr(2'999'990)));
  CHECK(
      (exchange(5, std::numeric_limits<std::uint64_t>::max(), text.size() - 5) == text.substr(5)));
  CHECK(server.send_file(file.number(), 4'000'000, 10) == 0);
  std::error_code error;
  CHECK(server.send_file(thrum::os::no_handle, 0, 10, error) == 0);
  CHECK(error == std::errc::bad_file_descriptor);
  server.set_write_deadline(steady::now() + 30ms);
  std::uint64_t all = 0;
  while (!error || !is_timeout(error)) {
    all += server.send_file(file.number(), 0, text.size(), error);
  }
  CHECK(is_timeout(error));
  server.close();
  std::string rest(100'000, '\0');
  std::uint64_t got = 0;
  while (const std::size_t n = client.read(rest)) {
    got += n;
  }
  CHECK(got == all);
}
