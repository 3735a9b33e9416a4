// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of io: Copy, CopyN, LimitReader, ReadFull, TeeReader, MultiWriter, re-created from their
// descriptions.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/error_of.hpp"
#include "support/scripted_stream.hpp"
#include "support/with_runtime.hpp"

#include <cstdint>
#include <string>
#include <system_error>

using support::error_of;
using support::recording_sink;
using support::scripted_source;
using support::with_runtime;
namespace io = thrum::io;

TEST_CASE("io Copy: everything, and nothing of nothing") {
  recording_sink sink;
  CHECK(io::copy(scripted_source{"hello, ", "world."}, sink) == 13);
  CHECK(sink.text == "hello, world.");
  CHECK(io::copy(scripted_source{}, sink) == 0);
  CHECK(sink.writes == 2);
}

TEST_CASE("io CopyN: a copy of a limited stream takes so much, and leaves the rest") {
  scripted_source source{"hello, world."};
  recording_sink sink;
  CHECK(io::copy(io::limited(source, 5), sink) == 5);
  CHECK(sink.text == "hello");
  CHECK(io::copy(io::limited(source, 0), sink) == 0);
  CHECK(source.read_all() == ", world.");
  io::limited rest(source, 5);
  CHECK(io::copy(rest, sink) == 0);
  CHECK(rest.left() == 5);  // that the stream has ended too early
}

TEST_CASE("io CopyReadErrWriteErr: of two errors that one which comes first is told") {
  scripted_source source{"a", std::errc::io_error};
  recording_sink sink;
  sink.room = 0;
  sink.failure = std::errc::broken_pipe;
  CHECK(error_of([&] { io::copy(source, sink); }) == std::errc::broken_pipe);
  CHECK(error_of([&] { io::copy(source, sink); }) == std::errc::io_error);
}

TEST_CASE("io ReadFull: all, a part with an error, and nothing at the end") {
  std::string five(5, ' ');
  std::error_code error;
  io::buffered_reader whole(scripted_source{"01", "234"});
  CHECK(whole.read_exactly(five, error) == 5);
  CHECK(!error);
  CHECK(whole.read_exactly(five, error) == 0);
  CHECK(!error);
  io::buffered_reader part(scripted_source{"01"});
  CHECK(part.read_exactly(five, error) == 2);
  CHECK(error == thrum::errc::unexpected_end);
}

TEST_CASE("io TeeReader: what is read has been written, and a writer that is gone is an error") {
  with_runtime([] {
    scripted_source source{"hello, world"};
    recording_sink sink;
    io::tee through(source, sink);
    CHECK(through.read_all() == "hello, world");
    CHECK(sink.text == "hello, world");

    scripted_source again{"hello, world"};
    io::memory_pipe p;
    p.second.close();
    io::tee into_nothing(again, p.first);
    CHECK(error_of([&] { into_nothing.read_all(); }) == std::errc::broken_pipe);
  });
}

TEST_CASE("io MultiWriter: one copy arrives in all places") {
  with_runtime([] {
    io::memory_pipe p;
    recording_sink first;
    recording_sink second;
    auto reading = thrum::spawn([&] { return p.second.read_all(); });
    CHECK(io::copy(scripted_source{"My ", "input ", "text."},
                   io::multi_writer(first, p.first, second)) == 14);
    p.first.close();
    CHECK(reading.join() == "My input text.");
    CHECK(first.text == "My input text.");
    CHECK(second.text == "My input text.");
  });
}

TEST_CASE("io Pipe: a copy through a pipe in memory is what was written, to the last byte") {
  with_runtime([] {
    io::memory_pipe p;
    const std::string text(100'000, 'x');
    auto writer = thrum::spawn([&] {
      const std::uint64_t n = io::copy(scripted_source{text, "end"}, p.first);
      p.first.close();
      return n;
    });
    recording_sink sink;
    CHECK(io::copy(p.second, sink) == 100'003);
    CHECK(writer.join() == 100'003);
    CHECK((sink.text == text + "end"));
  });
}
