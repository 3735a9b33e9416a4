// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Walks of trees that change meanwhile, or are very deep.

#include <thrum/io/directory.hpp>

#include "support/folder.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using support::folder;
namespace fs = std::filesystem;
namespace io = thrum::io;

IN_RUNTIME("a walk does not follow a link that has taken the place of a directory") {
  const folder here;
  here.write("outside/secret", "x");
  here.write("tree/a/inner/1", "x");
  here.write("tree/b/2", "x");
  io::directory_walk walk((here / "tree").string());
  std::error_code error;
  CHECK(walk.next(error)->name == "a");
  SECTION("before it is read") {
    fs::rename(here / "tree/a", here / "moved");
    fs::create_directory_symlink("../outside", here / "tree/a");
    const auto failed = walk.next(error);
    CHECK(failed->name == "a");
    CHECK(error == std::errc::not_a_directory);
  }
  SECTION("while what is in it is read") {
    CHECK(walk.next(error)->name == "inner");
    fs::rename(here / "tree/a", here / "moved");
    fs::create_directory(here / "outside/inner");
    here.write("outside/inner/secret", "x");
    fs::create_directory_symlink("../outside", here / "tree/a");
    CHECK(walk.next(error)->name == "1");
    CHECK_FALSE(error);
  }
  CHECK(walk.next(error)->name == "b");
  CHECK(walk.next(error)->name == "2");
  CHECK_FALSE(walk.next(error));
  CHECK_FALSE(error);
}

TEST_CASE("a walk sees a tree that is deeper than a path is long, with a few descriptors") {
  constexpr std::size_t deepest = 100;
  const folder here;
  const std::string name(200, 'd');
  int place = ::open((here / "").c_str(), O_RDONLY | O_DIRECTORY);
  for (std::size_t depth = 0; depth != deepest; ++depth) {
    REQUIRE(::mkdirat(place, name.c_str(), 0700) == 0);
    REQUIRE(::mkdirat(place, "z", 0700) == 0);  // is read when the walk has come back
    const int below = ::openat(place, name.c_str(), O_RDONLY | O_DIRECTORY);
    ::close(place);
    place = below;
  }
  ::close(place);
  const std::size_t before = support::open_descriptors();
  std::size_t most_open = 0;
  std::size_t most_depth = 0;
  std::size_t seen = 0;
  for (io::directory_walk walk((here / "").string()); walk.next(); ++seen) {
    most_depth = std::max(most_depth, walk.depth());
    most_open = std::max(most_open, support::open_descriptors());
  }
  CHECK(seen == 2 * deepest);
  CHECK(most_depth == deepest);
  CHECK(most_open <= before + 17);
  thrum::os::remove_tree((here / name).c_str());  // which others would not
}

TEST_CASE("a walk says which directories it does not find again, because one above was moved") {
  constexpr int depth = 20;
  const folder here;
  std::string path = "tree";
  for (int i = 0; i != depth; ++i) {
    path += "/d";
    here.write(path + "/z/file", "x");
  }
  io::directory_walk walk((here / "tree").string());
  std::optional<io::directory_entry> each = walk.next();
  for (int i = 1; i != depth; ++i) {
    each = walk.next();
  }
  // Deep below, the second one moves: from there on nothing above is found.
  fs::rename(here / "tree/d/d", here / "elsewhere");
  int found = 0;
  int lost = 0;
  std::error_code error;
  while ((each = walk.next(error))) {
    found += !error && each->name == "file" ? 1 : 0;
    lost += error == std::errc::no_such_file_or_directory && each->name == "z" ? 1 : 0;
  }
  CHECK(found + lost == depth);
  CHECK(lost == 1);
}
