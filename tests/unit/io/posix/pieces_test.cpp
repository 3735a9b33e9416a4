// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// read_v and write_v of a file whose mode is not ours.

#include <thrum/detail/io/pieces.hpp>

#include "support/descriptors.hpp"
#include "support/test.hpp"

namespace io = thrum::io;

IN_RUNTIME("read_v and write_v: of a pipe that was handed over in blocking mode, too") {
  int ends[2];
  REQUIRE(support::open_pipe(ends, support::waits::yes));
  io::file from(ends[0]);
  io::file to(ends[1]);
  const std::string_view one = "one";
  const std::string_view two = "two";
  const std::vector<std::span<const std::byte>> some{
      {}, std::as_bytes(std::span(one)), std::as_bytes(std::span(two))};
  std::string read(6, '-');
  const std::vector<std::span<std::byte>> into{{}, std::as_writable_bytes(std::span(read))};
  auto reader = thrum::spawn([&] { return from.read_v(into); });  // waits
  CHECK(to.write_v(some) == 6);
  const std::size_t n = reader.join();
  CHECK(n != 0);
  CHECK(read.substr(0, n) == std::string("onetwo").substr(0, n));
}
