// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/copy.hpp>

#include "support/folder.hpp"
#include "support/net.hpp"
#include "support/scripted_stream.hpp"
#include "support/test.hpp"

#include <cstring>

using support::recording_sink;
using support::scripted_source;
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

/// Never ends, and never waits.
struct endless_source : io::stream_reading<endless_source> {
  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) {
    error.clear();
    std::memset(buffer.data(), 'e', buffer.size());
    return buffer.size();
  }
};

/// Requests a stop when it has got so many bytes; takes all of them at once, files too.
struct stopping_sink : io::stream_writing<stopping_sink> {
  std::uint64_t most;
  std::stop_source stop{};
  std::uint64_t got = 0;

  explicit stopping_sink(std::uint64_t bytes) : most(bytes) {}

  void write_all(std::span<const std::byte> bytes, std::size_t& done, std::error_code& error) {
    error.clear();
    done = bytes.size();
    take(done);
  }
  std::uint64_t send_file(io::native_handle_type, std::uint64_t, std::uint64_t n,
                          std::error_code& error) {
    error.clear();
    take(n);
    return n;
  }

 private:
  void take(std::uint64_t n) {
    got += n;
    if (got >= most) {
      stop.request_stop();
    }
  }
};

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

IN_RUNTIME("copy goes from any stream to any other, through buffers and limits") {
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
}

IN_RUNTIME("a file is copied to a connection from its position on, which is behind it then") {
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
}

IN_RUNTIME("a limited file that is sent keeps count of what is left") {
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
}

IN_RUNTIME("a file that cannot be sent on has its position behind what was sent") {
  const support::folder folder;
  folder.write("a", numbered_text(20'000'000));
  io::file file = io::file::open((folder / "a").string());
  auto pair = support::tcp_pair();
  pair.client.set_write_deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
  std::error_code error;
  const std::uint64_t sent = io::copy(file, pair.client, error);
  CHECK(error == thrum::errc::deadline_exceeded);
  CHECK(file.seek(0, io::seek_from::current) == sent);
  CHECK(sent < 20'000'000);
}

IN_RUNTIME("a pipe and a file are copied into each other, by a thread, too") {
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

IN_RUNTIME("a stop ends a copy that waits for more, and what was copied before is known") {
  io::pipe p;
  io::pipe arrived;
  std::stop_source stop;
  auto copying = thrum::spawn([&] {
    std::error_code error;
    const std::uint64_t n = io::copy(p.reader(), arrived.writer(), stop.get_token(), error);
    return std::pair(n, error);
  });
  p.writer().write("12345");
  char text[5];
  CHECK(arrived.reader().read_full(std::span<char>(text)) == 5);
  stop.request_stop();
  const auto [n, error] = copying.join();
  CHECK(n == 5);
  CHECK(error == std::errc::operation_canceled);
  p.writer().write("6");
  p.close_write();
  CHECK(p.reader().read_all() == "6");
}

IN_RUNTIME(
    "a stop ends a copy to a connection that takes no more, and its peer gets the counted bytes") {
  auto pair = support::tcp_pair();
  endless_source source;
  auto copying = thrum::spawn([&] {
    std::error_code error;
    const auto soon = thrum::context().with_timeout(std::chrono::milliseconds(20));
    const std::uint64_t n = io::copy(source, pair.client, soon, error);
    pair.client.close_write();
    return std::pair(n, error);
  });
  const auto [n, error] = copying.join();
  CHECK(error == std::errc::operation_canceled);
  CHECK(pair.server.read_all().size() == n);
}

IN_RUNTIME("a stop ends a copy of a file to a connection: its position is behind what was sent") {
  const support::folder folder;
  folder.write("a", numbered_text(20'000'000));
  io::file file = io::file::open((folder / "a").string());
  auto pair = support::tcp_pair();
  std::stop_source stop;
  auto stopping = thrum::spawn([&] {
    thrum::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  std::error_code error;
  const std::uint64_t sent = io::copy(file, pair.client, stop.get_token(), error);
  CHECK(error == std::errc::operation_canceled);
  CHECK(file.seek(0, io::seek_from::current) == sent);
  pair.client.close_write();
  CHECK(pair.server.read_all().size() == sent);
}

TEST_CASE("a stop ends a copy that never waits") {
  endless_source source;
  stopping_sink sink(1'000'000);
  std::error_code error;
  const std::uint64_t n = io::copy(source, sink, sink.stop.get_token(), error);
  CHECK(error == std::errc::operation_canceled);
  CHECK(n == sink.got);
  CHECK(n < 2'000'000);
}

TEST_CASE("a stop ends a copy of a large file to a stream that takes each piece at once") {
  const support::folder folder;
  folder.write("a", "");
  io::file file = io::file::open((folder / "a").string(), io::open_mode::read_write);
  const std::uint64_t size = std::uint64_t{1} << 30;
  file.truncate(size);
  stopping_sink sink(10'000'000);
  std::error_code error;
  const std::uint64_t n = io::copy(file, sink, sink.stop.get_token(), error);
  CHECK(error == std::errc::operation_canceled);
  CHECK(n == sink.got);
  CHECK(n < size / 2);
  CHECK(file.seek(0, io::seek_from::current) == n);
}

TEST_CASE("a copy that is stopped before it begins touches neither stream") {
  scripted_source source{"abc"};
  recording_sink sink;
  std::stop_source stop;
  stop.request_stop();
  std::error_code error;
  CHECK(io::copy(source, sink, stop.get_token(), error) == 0);
  CHECK(error == std::errc::operation_canceled);
  CHECK(source.reads() == 0);
  CHECK(sink.writes == 0);
  const auto call = [&] { io::copy(source, sink, stop.get_token()); };
  CHECK(error_of(call) == std::errc::operation_canceled);
  CHECK(io::read_all(source, 10, stop.get_token(), error).empty());
  CHECK(error == std::errc::operation_canceled);
  CHECK(source.reads() == 0);
}

TEST_CASE("a copy with a stop that never comes is as one without") {
  scripted_source source{"abc", "def"};
  recording_sink sink;
  CHECK(io::copy(source, sink, thrum::context()) == 6);
  CHECK(sink.text == "abcdef");
  scripted_source fails{"abc", std::errc::io_error, "d"};
  std::error_code error;
  CHECK(io::copy(fails, sink, std::stop_token(), error) == 3);
  CHECK(error == std::errc::io_error);
  CHECK(io::read_all(fails, 10, std::stop_token(), error) == "d");
  CHECK_FALSE(error);
}

IN_RUNTIME("read_all with a limit and a stop returns what came before it") {
  io::pipe p;
  std::stop_source stop;
  auto reading = thrum::spawn([&] {
    std::error_code error;
    std::string text = io::read_all(p.reader(), 100, stop.get_token(), error);
    return std::pair(std::move(text), error);
  });
  p.writer().write("12345");
  thrum::sleep_for(std::chrono::milliseconds(5));
  stop.request_stop();
  const auto [text, error] = reading.join();
  CHECK(error == std::errc::operation_canceled);
  p.close_write();
  CHECK(text + p.reader().read_all() == "12345");
  const auto call = [&] { io::read_all(p.reader(), 100, stop.get_token()); };
  CHECK(error_of(call) == std::errc::operation_canceled);
}

TEST_CASE("read_all without a limit of its own takes no more than 64 MiB") {
  constexpr std::size_t most = std::size_t{64} * 1024 * 1024;
  std::error_code error;
  CHECK(io::read_all(endless_source(), error).size() == most);
  CHECK(error == std::errc::message_size);
  CHECK(error_of([] { io::read_all(endless_source()); }) == std::errc::message_size);
  scripted_source few{std::string("few")};
  CHECK(io::read_all(few) == "few");
}
