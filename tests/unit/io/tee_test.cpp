// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/tee.hpp>

#include "support/scripted_stream.hpp"
#include "support/test.hpp"

using support::recording_sink;
using support::scripted_source;
namespace io = thrum::io;

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
