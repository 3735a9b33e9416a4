// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/limited.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/io/tee.hpp>

#include "support/scripted_stream.hpp"
#include "support/test.hpp"

namespace io = thrum::io;
using support::recording_sink;
using support::scripted_source;

namespace {

static_assert(io::readable_stream<thrum::net::conn> && io::writable_stream<thrum::net::conn>);
static_assert(io::readable_stream<thrum::net::conn&> && io::writable_stream<thrum::net::conn&>);
static_assert(io::readable_stream<io::file> && io::writable_stream<io::file>);
static_assert(io::readable_stream<io::pipe> && io::writable_stream<io::pipe>);
static_assert(io::readable_stream<io::pipe_reader> && !io::writable_stream<io::pipe_reader>);
static_assert(io::writable_stream<io::pipe_writer> && !io::readable_stream<io::pipe_writer>);
static_assert(io::readable_stream<scripted_source> && io::writable_stream<recording_sink>);
static_assert(!io::readable_stream<std::string> && !io::writable_stream<std::string>);
static_assert(!io::readable_stream<thrum::net::udp_socket>);

/// One with the overloads that the concepts ask for, and nothing else.
struct bare_stream_of_zeroes {
  std::size_t read(std::span<std::byte> buffer) { return buffer.size(); }
  std::size_t read(std::span<std::byte> buffer, std::error_code& error) {
    error.clear();
    return buffer.size();
  }
};
static_assert(io::readable_stream<bare_stream_of_zeroes>);

/// One whose errors are told in its own words.
struct named_failing_stream : io::stream_reading<named_failing_stream> {
  std::size_t read_some(std::span<std::byte> /*buffer*/, std::error_code& error) {
    error = std::make_error_code(std::errc::io_error);
    return 0;
  }
  [[noreturn]] void fail(const std::error_code& error, const char* operation) const {
    throw std::system_error(error, std::string("the tape: ") + operation);
  }
};

/// One that takes a part, and says that all is well.
struct careless_sink {
  std::string text;

  std::size_t write(std::span<const std::byte> bytes) {
    std::error_code error;
    return write(bytes, error);
  }
  std::size_t write(std::span<const std::byte> bytes, std::error_code& error) {
    error.clear();
    const std::size_t n = bytes.size() / 2;
    text.append(reinterpret_cast<const char*>(bytes.data()), n);
    return n;
  }
};

template <class F>
std::string text_of_system_error(F f) {
  try {
    f();
  } catch (const std::system_error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a class with one function that reads has all members of a stream") {
  scripted_source source{"ab", "cdef", "gh"};
  char three[3];
  CHECK(source.read(three) == 2);
  CHECK(source.read_full(three) == 3);
  CHECK(std::string_view(three, 3) == "cde");
  CHECK(source.read_all() == "fgh");
  std::error_code error = std::make_error_code(std::errc::io_error);
  CHECK(source.read(three, error) == 0);
  CHECK(!error);
}

TEST_CASE("a class with one function that writes has all members of a stream") {
  recording_sink sink;
  CHECK(sink.write("abc") == 3);
  sink.room = 2;
  std::error_code error;
  CHECK(sink.write("defg", error) == 2);
  CHECK(error == std::errc::timed_out);
  CHECK(sink.text == "abcde");
}

TEST_CASE("the errors of a stream are thrown in its own words, or with the operation's name") {
  named_failing_stream tape;
  char one[1];
  CHECK(text_of_system_error([&] { tape.read(one); }).starts_with("the tape: read"));
  scripted_source source{std::errc::io_error};
  CHECK(text_of_system_error([&] { source.read_full(one); }).starts_with("stream::read_full"));
  scripted_source again{"a", std::errc::io_error};
  CHECK(error_of([&] { again.read_all(); }) == std::errc::io_error);
}

TEST_CASE(
    "a stream that writes less than all without an error has failed, whatever stands before it") {
  std::error_code error;
  careless_sink sink;
  SECTION("copy") {
    CHECK(io::copy(scripted_source{"abcd"}, sink, error) == 2);
    CHECK(sink.text == "ab");
  }
  SECTION("buffered_writer, by flush") {
    io::buffered_writer out(sink);
    out.write("abcd");
    CHECK(!out.flush(error));
    CHECK(out.buffered() == 2);  // none is dropped
  }
  SECTION("buffered_writer, past its buffer") {
    io::buffered_writer out(sink, 0);
    CHECK(out.write("abcd", error) == 2);
  }
  SECTION("tee") {
    char four[4];
    scripted_source source{"abcd"};
    CHECK(io::tee(source, sink).read(four, error) == 0);
  }
  SECTION("multi_writer") {
    recording_sink behind;
    CHECK(io::multi_writer(sink, behind).write("abcd", error) == 2);
    CHECK(behind.text.empty());
  }
  CHECK(error == std::errc::io_error);
}

TEST_CASE("to read into an empty string is an error of use, not the end") {
  scripted_source source{std::string("hello")};
  std::string text;
  std::error_code error;
  CHECK(support::is_usage_error("read", [&] { source.read(text); }));
  CHECK(support::is_usage_error("read", [&] { source.read(text, error); }));
  CHECK(support::is_usage_error("read", [&] { source.read_full(text); }));
  CHECK(source.reads() == 0);
  text.resize(3);
  CHECK(source.read(text) == 3);
  CHECK(text == "hel");
  CHECK(source.read_full(text, error) == 2);
  CHECK(source.read(std::span<char>()) == 0);
}

TEST_CASE("a limited stream ends behind its bytes and reads no further") {
  scripted_source source{"abcdefgh"};
  io::limited part(source, 5);
  static_assert(std::is_same_v<decltype(part), io::limited<scripted_source&>>);
  static_assert(io::readable_stream<decltype(part)>);
  char three[3];
  CHECK(part.read(three) == 3);
  CHECK(part.left() == 2);
  CHECK(part.read_all() == "de");
  CHECK(part.left() == 0);
  CHECK(part.read(three) == 0);
  CHECK(source.read_all() == "fgh");
}

TEST_CASE("a limited stream shows by what is left that the stream has ended too early") {
  io::limited part(scripted_source{"abc"}, 5);
  static_assert(std::is_same_v<decltype(part), io::limited<scripted_source>>);
  CHECK(part.read_all() == "abc");
  CHECK(part.left() == 2);
}

TEST_CASE("the errors of a stream come through its limit, and can be followed by more") {
  scripted_source source{"ab", std::errc::timed_out, "cd"};
  io::limited part(source, 3);
  char three[3];
  CHECK(part.read(three) == 2);
  CHECK(error_of([&] { part.read(three); }) == std::errc::timed_out);
  CHECK(part.left() == 1);
  CHECK(part.read(three) == 1);
  CHECK(three[0] == 'c');
}

TEST_CASE("what is read through a tee has been written when the read returns") {
  scripted_source source{"abc", "def"};
  recording_sink sink;
  io::tee both(source, sink);
  static_assert(io::readable_stream<decltype(both)>);
  char two[2];
  CHECK(both.read(two) == 2);
  CHECK(sink.text == "ab");
  CHECK(both.read_all() == "cdef");
  CHECK(sink.text == "abcdef");
}

TEST_CASE("a tee fails with the error of the reader, and with that of the writer") {
  scripted_source source{"a", std::errc::io_error, "bc"};
  recording_sink sink;
  io::tee both(source, sink);
  char two[2];
  CHECK(both.read(two) == 1);
  CHECK(error_of([&] { both.read(two); }) == std::errc::io_error);
  sink.room = 1;
  CHECK(error_of([&] { both.read(two); }) == std::errc::timed_out);
  CHECK(sink.text == "ab");
}

TEST_CASE("a multi_writer writes to each, and stops at the first that fails") {
  recording_sink a;
  recording_sink b;
  io::multi_writer all(a, b, recording_sink());
  static_assert(io::writable_stream<decltype(all)>);
  CHECK(all.write("abc") == 3);
  CHECK(a.text == "abc");
  CHECK(b.text == "abc");
  a.room = 1;
  std::error_code error;
  CHECK(all.write("def", error) == 1);
  CHECK(error == std::errc::timed_out);
  CHECK(a.text == "abcd");
  CHECK(b.text == "abc");
  a.room = 100;
  b.room = 2;
  b.failure = std::errc::io_error;
  CHECK(error_of([&] { all.write("ghi"); }) == std::errc::io_error);
  CHECK(a.text == "abcdghi");
  CHECK(b.text == "abcgh");
}

TEST_CASE("a multi_writer of one stream, and of none, is a stream") {
  recording_sink only;
  io::multi_writer one(only);
  CHECK(one.write("abc") == 3);
  CHECK(only.text == "abc");
  io::multi_writer<> none;
  CHECK(none.write("abc") == 3);
}
