// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// try_read and try_write: what streams do without waiting. read_v and write_v: several pieces of memory
// by one call.

#include <thrum/io/stream.hpp>

#include <thrum/detail/io/pieces.hpp>

#include "support/folder.hpp"
#include "support/net.hpp"
#include "support/test.hpp"

namespace io = thrum::io;

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
void with_each_kind_of_stream(F f) {
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

TEST_CASE("try_read: none while there is nothing, then what there is, then the end") {
  with_each_kind_of_stream([](auto& to, auto& from) {
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

TEST_CASE("try_write: takes what there is room for, and none when there is no more") {
  with_each_kind_of_stream([](auto& to, auto& from) {
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

TEST_CASE("try_read and try_write: none while another has its turn") {
  with_each_kind_of_stream([](auto& to, auto& from) {
    char one = 0;
    auto reader = thrum::spawn([&] { return from.read({&one, 1}); });
    CHECK(are_waiting(1));
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
    CHECK(are_waiting(1));
    CHECK(!to.try_write(std::string_view("z")));
    to.close();
    CHECK(support::is_cancelled(writer.join()));
  });
}

TEST_CASE("try_read and try_write: a deadline that has passed and a close are errors") {
  with_each_kind_of_stream([](auto& to, auto& from) {
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

TEST_CASE("try_read and try_write: from a thread of others, too") {
  io::pipe pipe;
  char buffer[16];
  CHECK(!pipe.reader().try_read(std::span<char>(buffer)));
  CHECK(pipe.writer().try_write(std::string_view("abc")) == 3);
  CHECK(pipe.reader().try_read(std::as_writable_bytes(std::span<char>(buffer))) == 3);
}

namespace {

using pieces_to_write = std::vector<std::span<const std::byte>>;
using pieces_to_read = std::vector<std::span<std::byte>>;

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span<const char>(text));
}
std::span<std::byte> room_in(std::string& text) {
  return std::as_writable_bytes(std::span<char>(text));
}

}  // namespace

TEST_CASE("read_v and write_v: the pieces in their order, as one stream") {
  with_each_kind_of_stream([](auto& to, auto& from) {
    const pieces_to_write some{bytes_of_text("one"), bytes_of_text(""), bytes_of_text("two"),
                               bytes_of_text("three")};
    CHECK(to.write_v(some) == 11);
    std::string first(2, '-');
    std::string second(0, '-');
    std::string third(20, '-');
    const pieces_to_read into{room_in(first), room_in(second), room_in(third)};
    CHECK(from.read_v(into) == 11);
    CHECK(first == "on");
    CHECK(third.substr(0, 9) == "etwothree");
    CHECK(third[9] == '-');
    CHECK(to.write_v(pieces_to_write()) == 0);
    CHECK(from.read_v(pieces_to_read()) == 0);
    to.close();
    CHECK(from.read_v(into) == 0);  // the end
  });
}

TEST_CASE("read_v waits for something, and write_v for room for all") {
  with_each_kind_of_stream([](auto& to, auto& from) {
    std::vector<std::string> texts;
    for (int i = 0; i < 200; ++i) {  // more than one call takes
      texts.emplace_back(static_cast<std::size_t>(i) * 100, static_cast<char>('a' + i % 26));
    }
    std::string all;
    pieces_to_write pieces;
    for (const std::string& each : texts) {
      pieces.push_back(bytes_of_text(each));
      all += each;
    }
    auto reader = thrum::spawn([&] {
      std::string read;
      std::string first(100, '-');
      std::string second(1000, '-');
      const pieces_to_read into{room_in(first), room_in(second)};
      while (const std::size_t n = from.read_v(into)) {
        read += (first + second).substr(0, n);
      }
      return read;
    });
    CHECK(to.write_v(pieces) == all.size());
    to.close();
    CHECK((reader.join() == all));
  });
}

TEST_CASE("read_v and write_v: errors as of read and write") {
  with_each_kind_of_stream([](auto& to, auto& from) {
    std::string room(4, '-');
    const pieces_to_read into{room_in(room)};
    const pieces_to_write some{bytes_of_text("x")};
    std::error_code error;
    from.set_read_deadline(support::steady::now());
    CHECK(from.read_v(into, error) == 0);
    CHECK(support::is_timeout(error));
    from.close();
    CHECK(support::is_cancelled(support::error_of([&] { from.read_v(into); })));
    CHECK(support::eventually([&] {  // TCP has to hear of it
      to.write_v(some, error);
      return error == std::errc::broken_pipe || error == std::errc::connection_reset;
    }));
    to.close();
    CHECK(support::is_cancelled(support::error_of([&] { to.write_v(some); })));
  });
}

TEST_CASE("read_v and write_v: a file's pieces go where its position is, and move it") {
  const support::folder folder;
  const std::string path = (folder / "pieces").string();
  with_runtime([&] {
    std::vector<std::string> texts;
    std::string all = "head";
    for (int i = 0; i < 150; ++i) {
      texts.emplace_back(static_cast<std::size_t>(i), static_cast<char>('a' + i % 26));
      all += texts.back();
    }
    pieces_to_write pieces;
    for (const std::string& each : texts) {
      pieces.push_back(bytes_of_text(each));
    }
    io::file to = io::file::open(path, io::open_mode::write | io::open_mode::create);
    to.write(std::string_view("head"));
    CHECK(to.write_v(pieces) == all.size() - 4);
    to.write(std::string_view("!"));
    to.close();
    io::file from = io::file::open(path, io::open_mode::read);
    std::string first(4, '-');
    std::string rest(all.size(), '-');
    const pieces_to_read into{room_in(first), room_in(rest)};
    CHECK(from.read_v(into) == all.size() + 1);
    CHECK(first == "head");
    CHECK((rest == all.substr(4) + "!" + "---"));
    CHECK(from.read_v(into) == 0);
    from.close();
    CHECK(support::is_cancelled(support::error_of([&] { from.read_v(into); })));
    CHECK(support::error_of([&] { from.write_v(pieces); }));
  });
}
