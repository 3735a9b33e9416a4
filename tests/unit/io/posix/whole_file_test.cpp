// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Permissions, links, and files that the system makes up.
#include <thrum/io/whole_file.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/error_of.hpp"
#include "support/folder.hpp"
#include "support/with_runtime.hpp"

#include <filesystem>
#include <string>

#include <sys/stat.h>

using support::folder;
using support::with_runtime;
namespace fs = std::filesystem;
namespace io = thrum::io;

TEST_CASE("a file that is written atomically keeps its permissions, and a link stays one") {
  with_runtime([] {
    const folder here;
    here.write("target", "old");
    fs::permissions(here / "target",
                    fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
    fs::create_symlink("target", here / "link");
    io::write_file((here / "link").string(), "new", {.atomic = true});
    CHECK(fs::is_symlink(here / "link"));
    CHECK(io::read_file((here / "target").string()) == "new");
    CHECK(fs::status(here / "target").permissions() ==
          (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
    io::write_file((here / "private").string(), "x", {.atomic = true, .permissions = 0600});
    CHECK(fs::status(here / "private").permissions() ==
          (fs::perms::owner_read | fs::perms::owner_write));
  });
}

TEST_CASE("a file whose size the system does not know is read to its end") {
  with_runtime([] {
    const folder here;
    const std::string path = (here / "fifo").string();
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    auto writer = thrum::spawn([&] { io::write_file(path, std::string(100'000, 'x')); });
    CHECK(io::read_file(path).size() == 100'000);
    writer.join();
    auto again = thrum::spawn([&] {
      std::error_code error;
      io::write_file(path, std::string(100'000, 'x'), {}, error);
    });
    CHECK(support::error_of([&] { io::read_file(path, 50'000); }) == std::errc::file_too_large);
    again.join();
  });
}

TEST_CASE("directories know fifos and links, and a walk does not follow them") {
  with_runtime([] {
    const folder here;
    here.write("a/x", "x");
    fs::create_directory_symlink("a", here / "link");
    REQUIRE(::mkfifo((here / "fifo").c_str(), 0600) == 0);
    const auto all = io::read_directory((here / "").string());
    REQUIRE(all.size() == 3);
    CHECK(all[1].kind == io::entry_kind::pipe);
    CHECK(all[2].kind == io::entry_kind::link);
    int seen = 0;
    for (io::directory_walk walk((here / "").string()); walk.next();) {
      ++seen;
    }
    CHECK(seen == 4);
    CHECK(io::read_directory("/dev").size() > 3);
  });
}
