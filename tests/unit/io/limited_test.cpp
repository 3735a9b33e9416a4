// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/limited.hpp>

#include "support/scripted_stream.hpp"
#include "support/test.hpp"

using support::scripted_source;
namespace io = thrum::io;

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
