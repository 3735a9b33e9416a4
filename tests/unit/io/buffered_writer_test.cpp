// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/buffered_writer.hpp>

#include "support/scripted_stream.hpp"
#include "support/test.hpp"

using support::recording_sink;
namespace io = thrum::io;

TEST_CASE("small writes are gathered until the buffer is full, or until a flush") {
  recording_sink sink;
  io::buffered_writer writer(sink, 8);
  static_assert(std::is_same_v<decltype(writer), io::buffered_writer<recording_sink&>>);
  static_assert(io::writable_stream<decltype(writer)>);
  writer.write("abc");
  writer.put('d');
  writer.write("efgh");
  CHECK(sink.writes == 0);
  CHECK(writer.buffered() == 8);
  writer.put('i');
  CHECK(sink.text == "abcdefgh");
  CHECK(writer.buffered() == 1);
  writer.flush();
  CHECK(sink.text == "abcdefghi");
  CHECK(sink.writes == 2);
  writer.flush();
  CHECK(sink.writes == 2);
}

TEST_CASE("a write that is larger than the buffer goes past it, behind what was there") {
  recording_sink sink;
  io::buffered_writer writer(sink, 8);
  writer.write("ab");
  CHECK(writer.write("0123456789") == 10);
  CHECK(sink.text == "ab0123456789");
  CHECK(writer.buffered() == 0);
  CHECK(sink.writes == 2);
  io::buffered_writer through(sink, 0);
  through.write("x");
  through.write("");
  CHECK(sink.text == "ab0123456789x");
}

TEST_CASE("what the stream has not taken stays in the buffer, and is tried again") {
  recording_sink sink;
  io::buffered_writer writer(sink, 8);
  writer.write("abcdef");
  sink.room = 2;
  std::error_code error;
  CHECK(!writer.flush(error));
  CHECK(error == std::errc::timed_out);
  CHECK(writer.buffered() == 4);
  CHECK(writer.write("01234567", error) == 0);
  CHECK(error == std::errc::timed_out);
  CHECK(error_of([&] { writer.flush(); }) == std::errc::timed_out);
  sink.room = 100;
  CHECK(writer.flush(error));
  CHECK(!error);
  CHECK(sink.text == "abcdef");
  sink.room = 3;
  CHECK(writer.write("0123456789", error) == 3);
  CHECK(error == std::errc::timed_out);
}

TEST_CASE("bytes that were not flushed are lost with a buffered writer, without a wait") {
  recording_sink sink;
  {
    io::buffered_writer writer(sink);
    writer.write("abc");
  }
  CHECK(sink.writes == 0);
}

IN_RUNTIME("a buffered writer owns a stream that was moved into it") {
  io::pipe p;
  {
    io::buffered_writer writer(std::move(p.writer()));
    static_assert(std::is_same_v<decltype(writer), io::buffered_writer<io::pipe_writer>>);
    for (int i = 0; i != 1'000; ++i) {
      writer.put('x');
    }
    auto moved = std::move(writer);
    moved.flush();
  }
  CHECK(p.reader().read_all() == std::string(1'000, 'x'));
}

IN_RUNTIME("a stop ends a flush, and what was not written stays in the buffer") {
  auto ends = io::memory_pipe();
  io::buffered_writer writer(ends.first);
  writer.write("text");
  std::error_code error;
  const auto soon = thrum::context().with_timeout(std::chrono::milliseconds(2));
  CHECK_FALSE(writer.flush(soon, error));
  CHECK(error == std::errc::operation_canceled);
  CHECK(writer.buffered() == 4);
  auto reading = thrum::spawn([&] {
    char text[4];
    ends.second.read_full(text);
    return std::string(text, 4);
  });
  CHECK(writer.flush(thrum::context()));
  CHECK(reading.join() == "text");
}
