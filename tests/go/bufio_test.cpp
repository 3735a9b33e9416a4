// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of bufio, re-created from their descriptions. Cases that the tests of io hold are left out.

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
