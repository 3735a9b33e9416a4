// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/copy.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/error_of.hpp"
#include "support/folder.hpp"
#include "support/net.hpp"
#include "support/scripted_stream.hpp"
#include "support/with_runtime.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>

using support::error_of;
using support::recording_sink;
using support::scripted_source;
using support::with_runtime;
namespace io = thrum::io;

namespace {

std::string numbered_text(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i != size; ++i) {
    text[i] = static_cast<char>('a' + i * 7 % 23);
  }
  return text;
}

/// What arrives at the other end of a connection while f(connection) runs.
template <class F>
std::string arriving_from(F f) {
  auto pair = support::tcp_pair();
  auto reading = thrum::spawn([&] { return pair.server.read_all(); });
  f(pair.client);
  pair.client.close_write();
  return reading.join();
}

}  // namespace

TEST_CASE("copy passes on everything up to the end, and says how much that was") {
  scripted_source source{"abc", std::string(100'000, 'x'), "def"};
  recording_sink sink;
  CHECK(io::copy(source, sink) == 100'006);
  CHECK((sink.text == "abc" + std::string(100'000, 'x') + "def"));
  CHECK(io::copy(source, sink) == 0);
}

TEST_CASE("what was copied before an error counts, whichever side it is of") {
  scripted_source source{"abc", std::errc::io_error, "defg", "h"};
  recording_sink sink;
  std::error_code error;
  CHECK(io::copy(source, sink, error) == 3);
  CHECK(error == std::errc::io_error);
  sink.room = 2;
  CHECK(io::copy(source, sink, error) == 2);
  CHECK(error == std::errc::timed_out);
  CHECK(sink.text == "abcde");
  scripted_source again{std::errc::io_error};
  CHECK(error_of([&] { io::copy(again, sink); }) == std::errc::io_error);
}

TEST_CASE("copy goes from any stream to any other, through buffers and limits") {
  with_runtime([] {
    io::pipe p;
    auto writer = thrum::spawn([&] {
      io::buffered_writer out(p.writer());
      scripted_source source{"head\n", "0123456789"};
      io::copy(source, out);
      out.flush();
      p.close_write();
    });
    io::buffered_reader in(p.reader());
    CHECK(in.read_line() == "head");
    recording_sink sink;
    CHECK(io::copy(io::limited(in, 4), sink) == 4);
    CHECK(io::copy(in, sink) == 6);
    CHECK(sink.text == "0123456789");
    writer.join();
  });
}

TEST_CASE("a file is copied to a connection from its position on, which is behind it then") {
  with_runtime([] {
    const support::folder folder;
    const std::string text = numbered_text(300'000);
    folder.write("a", text);
    io::file file = io::file::open((folder / "a").string());
    file.seek(1'000);
    const std::string got = arriving_from([&](thrum::net::conn& to) {
      CHECK(io::copy(io::limited(file, 5'000), to) == 5'000);
      CHECK(file.seek(0, io::seek_from::current) == 6'000);
      CHECK(io::copy(file, to) == 294'000);
      CHECK(file.seek(0, io::seek_from::current) == 300'000);
      CHECK(io::copy(file, to) == 0);
      CHECK(io::copy(io::limited(file, 10), to) == 0);
    });
    CHECK((got == text.substr(1'000)));
  });
}

TEST_CASE("a limited file that is sent keeps count of what is left") {
  with_runtime([] {
    const support::folder folder;
    folder.write("a", "0123456789");
    io::file file = io::file::open((folder / "a").string());
    io::limited part(file, 4);
    io::limited more(file, 100);
    const std::string got = arriving_from([&](thrum::net::conn& to) {
      CHECK(io::copy(part, to) == 4);
      CHECK(io::copy(more, to) == 6);
    });
    CHECK(got == "0123456789");
    CHECK(part.left() == 0);
    CHECK(more.left() == 94);
  });
}

TEST_CASE("a file that cannot be sent on has its position behind what was sent") {
  with_runtime([] {
    const support::folder folder;
    folder.write("a", std::string(20'000'000, 'x'));
    io::file file = io::file::open((folder / "a").string());
    auto pair = support::tcp_pair();
    pair.client.set_write_deadline(std::chrono::steady_clock::now() +
                                   std::chrono::milliseconds(20));
    std::error_code error;
    const std::uint64_t sent = io::copy(file, pair.client, error);
    CHECK(error == thrum::errc::deadline_exceeded);
    CHECK(file.seek(0, io::seek_from::current) == sent);
    CHECK(sent < 20'000'000);
  });
}

TEST_CASE("a pipe and a file are copied into each other, by a thread, too") {
  with_runtime([] {
    const support::folder folder;
    const std::string text = numbered_text(100'000);
    folder.write("a", text);
    io::pipe p;
    std::thread writer([&] {
      io::file from = io::file::open((folder / "a").string());
      io::copy(from, p.writer());
      p.close_write();
    });
    io::file to =
        io::file::open((folder / "b").string(), io::open_mode::read_write | io::open_mode::create);
    CHECK(io::copy(p.reader(), to) == text.size());
    thrum::blocking([&] { writer.join(); });
    to.seek(0);
    CHECK((to.read_all() == text));
  });
}

TEST_CASE("read_all with a limit takes what fits, and calls more an error") {
  scripted_source second{"abc", "def"};
  CHECK(io::read_all(second, 6) == "abcdef");
  scripted_source third{"abc", "def", "ghi"};
  std::error_code error;
  CHECK(io::read_all(third, 5, error) == "abcde");
  CHECK(error == std::errc::message_size);
  CHECK(third.read_all() == "ghi");  // "f" showed that there is more
  CHECK(error_of([&] { io::read_all(scripted_source{"a"}, 0); }) == std::errc::message_size);
  CHECK(io::read_all(scripted_source{}, 0).empty());
  scripted_source failing{"abc", std::errc::io_error};
  CHECK(io::read_all(failing, 100, error) == "abc");
  CHECK(error == std::errc::io_error);
  const std::string large = numbered_text(100'000);
  CHECK((io::read_all(scripted_source{large}, 100'000) == large));
  CHECK((io::read_all(scripted_source{large}, std::string::npos) == large));
}
