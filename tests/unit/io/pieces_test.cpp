// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// read_v and write_v: several pieces of memory by one call.

#include <thrum/io/pieces.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/error_of.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/net.hpp"
#include "support/with_runtime.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace io = thrum::io;
using support::with_runtime;

namespace {

using pieces_to_write = std::vector<std::span<const std::byte>>;
using pieces_to_read = std::vector<std::span<std::byte>>;

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span<const char>(text));
}
std::span<std::byte> room_in(std::string& text) {
  return std::as_writable_bytes(std::span<char>(text));
}

/// From the first to the second.
template <class F>
void with_each_kind_of_pieces(F f) {
  with_runtime([&] {
    support::conn_pair tcp = support::tcp_pair();
    f(tcp.client, tcp.server);
    support::conn_pair local = support::local_pair();
    f(local.client, local.server);
    io::pipe pipe;
    f(pipe.writer(), pipe.reader());
  });
}

}  // namespace

TEST_CASE("read_v and write_v: the pieces in their order, as one stream", "[io][net]") {
  with_each_kind_of_pieces([](auto& to, auto& from) {
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

TEST_CASE("read_v waits for something, and write_v for room for all", "[io][net]") {
  with_each_kind_of_pieces([](auto& to, auto& from) {
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

TEST_CASE("read_v and write_v: errors as of read and write", "[io][net]") {
  with_each_kind_of_pieces([](auto& to, auto& from) {
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

TEST_CASE("read_v and write_v: a file's pieces go where its position is, and move it", "[io]") {
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
