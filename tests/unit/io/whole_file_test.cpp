// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/whole_file.hpp>

#include "support/folder.hpp"
#include "support/test.hpp"

#include <filesystem>

using support::folder;
namespace io = thrum::io;

TEST_CASE("a file is written and read by one call each, of any size") {
  with_runtime([] {
    const folder here;
    const std::string path = (here / "file").string();
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4095},
                                   std::size_t{4096}, std::size_t{4097}, std::size_t{1'000'000}}) {
      const std::string text(size, 'x');
      io::write_file(path, text);
      CHECK(io::read_file(path) == text);
    }
    io::write_file(path, std::as_bytes(std::span(std::string_view("bytes"))));
    CHECK(io::read_file(path) == "bytes");
    io::write_file(path, "more", {.sync = true, .append = true});
    CHECK(io::read_file(path) == "bytesmore");
  });
  const folder here;
  io::write_file((here / "file").string(), "on a thread");
  CHECK(io::read_file((here / "file").string()) == "on a thread");
}

IN_RUNTIME("reading a file that is longer than allowed fails, also if its size is not known") {
  const folder here;
  const std::string path = (here / "file").string();
  io::write_file(path, "12345");
  CHECK(io::read_file(path, 5) == "12345");
  CHECK(error_of([&] { io::read_file(path, 4); }) == std::errc::file_too_large);
  std::error_code error;
  CHECK(io::read_file((here / "none").string(), error).empty());
  CHECK(error == std::errc::no_such_file_or_directory);
  CHECK(error_of([&] { io::write_file((here / "no" / "where").string(), "x"); }) ==
        std::errc::no_such_file_or_directory);
}

IN_RUNTIME("an atomic write replaces a file as a whole, and leaves nothing beside it") {
  const folder here;
  const std::string path = (here / "file").string();
  io::write_file(path, "first", {.atomic = true});
  CHECK(io::read_file(path) == "first");
  io::file reader = io::file::open(path);
  if (THRUM_OS_WINDOWS) {
    CHECK(error_of([&] { io::write_file(path, "second", {.atomic = true}); }) ==
          std::errc::permission_denied);
    reader.close();
  }
  io::write_file(path, "second", {.atomic = true, .sync = true});
  CHECK(io::read_file(path) == "second");
  if (!THRUM_OS_WINDOWS) {
    CHECK(reader.read_all() == "first");  // who has it open keeps what was in it
  }
  CHECK(io::read_directory((here / "").string()).size() == 1);
  CHECK(error_of([&] { io::write_file(path, "x", {.atomic = true, .append = true}); }) ==
        std::errc::invalid_argument);
  // What cannot be replaced stays, and nothing beside it.
  here.write("folder/inner", "x");
  CHECK(error_of([&] { io::write_file((here / "folder").string(), "x", {.atomic = true}); }) !=
        std::error_code());
  CHECK(io::read_directory((here / "").string()).size() == 2);
  CHECK(error_of([&] {
          io::write_file((here / "no" / "where").string(), "x", {.atomic = true});
        }) == std::errc::no_such_file_or_directory);
}
