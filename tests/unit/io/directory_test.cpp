// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/directory.hpp>

#include "support/folder.hpp"
#include "support/test.hpp"

#include <filesystem>

using support::folder;
namespace io = thrum::io;

namespace {

std::string walked(io::directory_walk& walk) {
  std::string all;
  while (const auto each = walk.next()) {
    all += std::to_string(walk.depth()) + each->name + (each->is_directory() ? "/ " : " ");
  }
  return all;
}

}  // namespace

TEST_CASE("a directory is read sorted by name, with the kind and the path of each entry") {
  const folder here;
  here.write("b.txt", "x");
  here.write("a/inner.txt", "x");
  const std::string path = here.operator/("").string();
  io::write_file(path + "/\u00e4.txt", "x");
  const auto check = [&] {
    const std::vector<io::directory_entry> all = io::read_directory(path);
    REQUIRE(all.size() == 3);
    CHECK(all[0].name == "a");
    CHECK(all[0].is_directory());
    CHECK(all[1].name == "b.txt");
    CHECK(all[1].kind == io::entry_kind::file);
    CHECK(std::filesystem::equivalent(all[1].path, here / "b.txt"));
    CHECK(all[2].name == "\u00e4.txt");
  };
  check();  // on a thread
  with_runtime(check);
}

IN_RUNTIME("reading a file as a directory fails, and the error names it") {
  const folder here;
  here.write("file", "x");
  std::error_code error;
  CHECK(io::read_directory((here / "none").string(), error).empty());
  CHECK(error == std::errc::no_such_file_or_directory);
  CHECK(io::read_directory((here / "file").string(), error).empty());
  CHECK(error);
  CHECK(io::read_directory((here / "").string() + '\0', error).empty());
  CHECK(error == std::errc::invalid_argument);
  CHECK(io::read_directory({}, error).empty());
  CHECK(error == std::errc::no_such_file_or_directory);
  std::string text;
  try {
    io::read_directory((here / "none").string());
  } catch (const std::system_error& failed) {
    text = failed.what();
  }
  CHECK(text.find("read_directory") != std::string::npos);
  CHECK(text.find("none") != std::string::npos);
}

IN_RUNTIME("a walk gives each directory before what is in it, and may skip or be bounded") {
  const folder here;
  for (const char* const name : {"a/1", "a/b/2", "c", "d/3"}) {
    here.write(name, "x");
  }
  const std::string path = (here / "").string();
  io::directory_walk all(path);
  CHECK(all.depth() == 0);
  CHECK(walked(all) == "1a/ 21 2b/ 32 1c 1d/ 23 ");
  CHECK_FALSE(all.next());
  io::directory_walk shallow(path, 1);
  CHECK(walked(shallow) == "1a/ 1c 1d/ ");
  io::directory_walk skipping(path);
  CHECK(skipping.next()->name == "a");
  skipping.skip();
  CHECK(skipping.next()->name == "c");
  skipping.skip();  // of no directory: nothing
  CHECK(walked(skipping) == "1d/ 23 ");
}

IN_RUNTIME("a walk goes on behind a directory that is gone, and says which it was") {
  const folder here;
  here.write("a/1", "x");
  here.write("b", "x");
  io::directory_walk walk((here / "").string());
  std::error_code error;
  CHECK(walk.next(error)->name == "a");
  std::filesystem::remove_all(here / "a");
  const auto failed = walk.next(error);
  CHECK(error == std::errc::no_such_file_or_directory);
  CHECK(failed->name == "a");
  CHECK(walk.next(error)->name == "b");
  CHECK_FALSE(error);
  CHECK_FALSE(walk.next(error));
  io::directory_walk nothing((here / "none").string());
  CHECK(error_of([&] { nothing.next(); }) == std::errc::no_such_file_or_directory);
  CHECK_FALSE(nothing.next());
}
