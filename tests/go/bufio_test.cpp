// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of bufio, and of io: Copy, CopyN, LimitReader, ReadFull, TeeReader, MultiWriter, re-created from
// their descriptions.

#include "support/scripted_stream.hpp"
#include "support/test.hpp"

namespace io = thrum::io;
using support::recording_sink;
using support::scripted_source;

namespace {

/// A text in pieces of that size, perhaps with a time-out behind each.
scripted_source source_in_pieces(const std::string& text, std::size_t size, bool with_timeouts) {
  scripted_source source{};
  for (std::size_t at = 0; at < text.size(); at += size) {
    source.then(text.substr(at, size));
    if (with_timeouts) {
      source.then(std::errc::timed_out);
    }
  }
  return source;
}

/// Texts of each length up to some, of lines of different lengths.
std::string text_for_bufio(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i != size; ++i) {
    text[i] = i % 17 == 16 ? '\n' : static_cast<char>('a' + i % 26);
  }
  return text;
}

}  // namespace

TEST_CASE("bufio Reader: texts of many sizes by many sizes of pieces, buffers and reads") {
  int wrong = 0;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{23}, std::size_t{200}}) {
    const std::string text = text_for_bufio(size);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{200}}) {
      for (const std::size_t limit : {std::size_t{1}, std::size_t{16}, std::size_t{46}}) {
        for (const std::size_t read : {std::size_t{1}, std::size_t{5}, std::size_t{64}}) {
          for (const bool with_timeouts : {false, true}) {
            io::buffered_reader reader(source_in_pieces(text, piece, with_timeouts), limit);
            std::string got;
            std::string block(read, ' ');
            std::error_code error;
            for (std::size_t n = 1; n != 0 || error;) {
              n = reader.read(block, error);
              got.append(block, 0, n);
            }
            wrong += got != text;
          }
        }
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("bufio ReadString: a text comes back line by line, whatever times out in between") {
  const std::string text = text_for_bufio(500);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{500}}) {
    io::buffered_reader reader(source_in_pieces(text, piece, true));
    std::string got;
    std::error_code error;
    for (bool is_over = false; !is_over;) {
      const std::optional<std::string> line = reader.read_until('\n', error);
      got += line.value_or("");
      is_over = !line && !error;
    }
    CHECK(got == text);
  }
}

TEST_CASE("bufio PeekThenUnreadable: peeks of all sizes see what reads get afterwards") {
  io::buffered_reader reader(scripted_source{"abcdefghijklmnop"}, 16);
  CHECK(reader.peek(1) == "a");
  CHECK(reader.peek(4) == "abcd");
  CHECK(error_of([&] { reader.peek(32); }) == std::errc::message_size);
  std::string three(3, ' ');
  CHECK(reader.read(three) == 3);
  CHECK(three == "abc");
  CHECK(reader.peek(1) == "d");
  CHECK(reader.read(three) == 3);
  CHECK(three == "def");
  CHECK(reader.peek(4) == "ghij");
  CHECK(reader.read(three) == 3);
  CHECK(reader.peek(7) == "jklmnop");
  CHECK(reader.read_all() == "jklmnop");
  CHECK(reader.peek(1).empty());
}

TEST_CASE("bufio Peek: an error is told once, with what came before it") {
  io::buffered_reader reader(scripted_source{"ab", std::errc::io_error, "c"});
  std::error_code error;
  CHECK(reader.peek(3, error) == "ab");
  CHECK(error == std::errc::io_error);
  CHECK(reader.peek(3, error) == "abc");
  CHECK(!error);
}

TEST_CASE("bufio ReadLine: line ends of both kinds, also cut in two, and none at the end") {
  const std::string text = "012345678901234\n012345678901\r\n\r\nx\r\n012";
  for (std::size_t piece = 1; piece != 20; ++piece) {
    io::buffered_reader reader(source_in_pieces(text, piece, false));
    std::vector<std::string> lines;
    std::string line;
    while (reader.read_line(line)) {
      lines.push_back(line);
    }
    CHECK(lines == std::vector<std::string>{"012345678901234", "012345678901", "", "x", "012"});
  }
}

TEST_CASE("bufio LineTooLong: a line beyond the buffer is an error, and its bytes can be read") {
  std::string text;
  for (int i = 0; i != 160; ++i) {
    text += static_cast<char>('0' + i % 10);
  }
  io::buffered_reader reader(source_in_pieces(text + "\nnext\n", 9, false), 16);
  CHECK(error_of([&] { reader.read_line(); }) == std::errc::message_size);
  std::string got(160, ' ');
  CHECK(reader.read_full(got) == 160);
  CHECK(got == text);
  CHECK(reader.read_line() == "");
  CHECK(reader.read_line() == "next");
}

TEST_CASE(
    "bufio Discard: what is buffered, what is not, more than there is, and an error between") {
  const std::string alphabet = "abcdefghijklmnopqrstuvwxyz";
  struct row {
    std::size_t peeked, n, done, left;
  };
  for (const row each : {row{0, 0, 0, 26}, row{3, 1, 1, 25}, row{3, 3, 3, 23}, row{3, 5, 5, 21},
                         row{0, 26, 26, 0}, row{3, 30, 26, 0}}) {
    io::buffered_reader reader(scripted_source{alphabet}, 26);
    CHECK(reader.peek(each.peeked).size() == each.peeked);
    CHECK(reader.discard(each.n) == each.done);
    CHECK(reader.read_all().size() == each.left);
  }
  io::buffered_reader failing(scripted_source{"abc", std::errc::io_error, "def"});
  std::error_code error;
  CHECK(failing.discard(5, error) == 3);
  CHECK(error == std::errc::io_error);
  CHECK(failing.discard(2, error) == 2);
  CHECK(!error);
  CHECK(failing.read_all() == "f");
}

TEST_CASE("bufio Writer: writes of each size by buffers of many sizes arrive as they were") {
  std::string data(600, '\0');
  for (std::size_t i = 0; i != data.size(); ++i) {
    data[i] = static_cast<char>(' ' + i % 94);
  }
  int wrong = 0;
  for (const std::size_t buffer :
       {std::size_t{0}, std::size_t{1}, std::size_t{23}, std::size_t{64}}) {
    for (std::size_t size = 0; size < data.size(); size += 29) {
      recording_sink sink;
      io::buffered_writer writer(sink, buffer);
      const std::string_view text = std::string_view(data).substr(0, size);
      wrong += writer.write(text) != size;
      for (const char c : text) {
        writer.put(c);
      }
      writer.flush();
      wrong += sink.text != std::string(text) + std::string(text);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("bufio WriteErrors: a flush fails with the stream's error, again until that is over") {
  recording_sink sink;
  sink.room = 5;
  sink.failure = std::errc::broken_pipe;
  io::buffered_writer writer(sink);
  writer.write("hello world");
  for (int i = 0; i != 2; ++i) {
    CHECK(error_of([&] { writer.flush(); }) == std::errc::broken_pipe);
  }
  CHECK(sink.text == "hello");
  CHECK(writer.buffered() == 6);
}

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

TEST_CASE("io CopyReadErrWriteErr: copy reports the first of two errors") {
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

IN_RUNTIME("io TeeReader: what is read has been written, and a writer that is gone is an error") {
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
}

IN_RUNTIME("io MultiWriter: one copy arrives in all places") {
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
}

IN_RUNTIME("io Pipe: a copy through a pipe in memory is what was written, to the last byte") {
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
}
