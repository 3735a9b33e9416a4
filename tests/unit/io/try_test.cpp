// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// try_read and try_write: what streams do without waiting.

#include <thrum/io/stream.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/error_of.hpp"
#include "support/eventually.hpp"
#include "support/net.hpp"
#include "support/with_runtime.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace io = thrum::io;
using support::eventually;
using support::with_runtime;

namespace {

template <class Stream>
concept can_try = requires(Stream& stream, std::span<std::byte> buffer) {
  stream.try_read(buffer);
  stream.read_v(std::span(&buffer, 1));
};
static_assert(can_try<thrum::net::conn> && can_try<io::pipe_reader>);
static_assert(!can_try<io::memory_pipe_end>);

/// Two of each kind that can: from the first to the second.
template <class F>
void with_each_kind_that_tries(F f) {
  with_runtime([&] {
    support::conn_pair tcp = support::tcp_pair();
    f(tcp.client, tcp.server);
    support::conn_pair local = support::local_pair();
    f(local.client, local.server);
    io::pipe pipe;
    f(pipe.writer(), pipe.reader());
  });
}

/// try_read until there is something.
template <class Stream>
std::string tried_text(Stream& from) {
  char buffer[16];
  std::optional<std::size_t> n;
  eventually([&] {
    n = from.try_read(std::span<char>(buffer));
    return n.has_value();
  });
  return std::string(buffer, n.value_or(0));
}

/// try_write until there is no room.
template <class Stream>
std::size_t tried_full(Stream& to) {
  const std::string block(std::size_t{64} * 1024, 'x');
  std::size_t sum = 0;
  while (const std::optional<std::size_t> n = to.try_write(block)) {
    sum += *n;
  }
  return sum;
}

}  // namespace

TEST_CASE("try_read: none while there is nothing, then what there is, then the end", "[io][net]") {
  with_each_kind_that_tries([](auto& to, auto& from) {
    char buffer[16];
    CHECK(!from.try_read(std::span<char>(buffer)));
    to.write(std::string_view("one"));
    CHECK(tried_text(from) == "one");
    CHECK(!from.try_read(std::span<char>(buffer)));
    to.write(std::string_view("two"));
    CHECK(from.read(std::span<char>(buffer)) == 3);  // as if nobody had tried
    to.close();
    CHECK(tried_text(from).empty());
  });
}

TEST_CASE("try_write: takes what there is room for, and none when there is no more", "[io][net]") {
  with_each_kind_that_tries([](auto& to, auto& from) {
    const std::size_t written = tried_full(to);
    CHECK(written != 0);
    auto reader = thrum::spawn([&] {
      std::size_t read = 0;
      char buffer[4096];
      while (const std::size_t n = from.read(std::span<char>(buffer))) {
        read += n;
      }
      return read;
    });
    to.write(std::string_view("more"));  // waits for room
    to.close();
    CHECK(reader.join() == written + 4);
  });
}

TEST_CASE("try_read and try_write: none while another has its turn", "[io][net]") {
  with_each_kind_that_tries([](auto& to, auto& from) {
    char one = 0;
    auto reader = thrum::spawn([&] { return from.read({&one, 1}); });
    CHECK(eventually([] { return thrum::stats().waiting == 1; }));
    char other = 0;
    CHECK(!from.try_read({&other, 1}));
    to.write(std::string_view("x"));
    CHECK(reader.join() == 1);
    CHECK(one == 'x');
    const std::string more_than_fits(std::size_t{64} << 20, 'y');
    auto writer = thrum::spawn([&] {
      std::error_code error;
      to.write(more_than_fits, error);
      return error;
    });
    CHECK(eventually([] { return thrum::stats().waiting == 1; }));
    CHECK(!to.try_write(std::string_view("z")));
    to.close();
    CHECK(support::is_cancelled(writer.join()));
  });
}

TEST_CASE("try_read and try_write: a deadline that has passed and a close are errors",
          "[io][net]") {
  with_each_kind_that_tries([](auto& to, auto& from) {
    std::error_code error;
    char one = 0;
    to.set_write_deadline(support::steady::now());
    from.set_read_deadline(support::steady::now());
    CHECK(!to.try_write(std::string_view("x"), error));
    CHECK(support::is_timeout(error));
    CHECK(!from.try_read({&one, 1}, error));
    CHECK(support::is_timeout(error));
    to.set_write_deadline(thrum::time_point::max());
    CHECK(to.try_write(std::string_view("x"), error) == 1);
    CHECK(!error);
    to.close();
    from.close();
    CHECK(support::is_cancelled(support::error_of([&] { to.try_write(std::string_view("x")); })));
    CHECK(support::is_cancelled(support::error_of([&] { from.try_read({&one, 1}); })));
    std::remove_reference_t<decltype(from)> none;
    CHECK(!none.try_read({&one, 1}, error));
    CHECK(error == std::errc::bad_file_descriptor);
  });
}

TEST_CASE("try_read and try_write: from a thread of others, too", "[io][net]") {
  io::pipe pipe;
  char buffer[16];
  CHECK(!pipe.reader().try_read(std::span<char>(buffer)));
  CHECK(pipe.writer().try_write(std::string_view("abc")) == 3);
  CHECK(pipe.reader().try_read(std::as_writable_bytes(std::span<char>(buffer))) == 3);
}
