// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/temporary.hpp>

#include "support/folder.hpp"
#include "support/test.hpp"

#include <filesystem>

using support::folder;
namespace fs = std::filesystem;
namespace io = thrum::io;

IN_RUNTIME("a temporary file is there while its object is, open and with its prefix") {
  std::string path;
  {
    io::temporary_file file = io::temporary_file::make("my-prefix-");
    path = file.path();
    CHECK(fs::path(path).filename().string().starts_with("my-prefix-"));
    file->write("text");
    file->seek(0);
    CHECK(file.get().read_all() == "text");
    const io::temporary_file other = std::move(file);
    CHECK(other.path() == path);
    CHECK(fs::exists(path));
  }
  CHECK_FALSE(fs::exists(path));
  CHECK(io::temporary_file::make().path() != io::temporary_file::make().path());
}

TEST_CASE("a temporary directory goes with all that is in it") {
  with_runtime([] {
    const folder here;
    std::string path;
    {
      const auto made = io::temporary_directory::make("t-", (here / "").string());
      path = made.path();
      CHECK(fs::is_directory(path));
      CHECK(fs::path(path).parent_path() == fs::path(here / "").parent_path());
      io::write_file(made / "file", "x");
      fs::create_directories(made / "deep/er");
      CHECK(fs::exists(fs::path(path) / "file"));
    }
    CHECK_FALSE(fs::exists(path));
  });
  const std::string on_a_thread = io::temporary_directory::make().path();
  CHECK_FALSE(fs::exists(on_a_thread));
}

TEST_CASE("what has got the name of a temporary file or directory stays") {
  const folder here;
  const std::string where = (here / "").string();
  std::string file;
  std::string directory;
  {
    io::temporary_file first = io::temporary_file::make("t-", where);
    const io::temporary_directory second = io::temporary_directory::make("t-", where);
    file = first.path();
    directory = second.path();
    if (THRUM_OS_WINDOWS) {
      first.get().close();
    }
    fs::remove(file);
    fs::create_directories(fs::path(file) / "deep");
    fs::rename(directory, directory + "-moved");
    fs::create_directories(fs::path(directory) / "deep");
  }
  CHECK(fs::exists(fs::path(file) / "deep"));
  CHECK(fs::exists(fs::path(directory) / "deep"));
  CHECK(fs::exists(directory + "-moved"));
}

TEST_CASE("a temporary file of a relative path goes in another working directory, too") {
  const folder here;
  const fs::path before = fs::current_path();
  fs::current_path(here / "");
  std::string path;
  {
    const io::temporary_file made = io::temporary_file::make("t-", ".");
    path = made.path();
    fs::current_path(before);
  }
  CHECK_FALSE(fs::exists(here / path));
}

IN_RUNTIME("what is kept stays, and one that is replaced goes") {
  const folder here;
  const std::string where = (here / "").string();
  std::string kept = io::temporary_file::make("t-", where).keep();
  CHECK(fs::exists(kept));
  kept = io::temporary_directory::make("t-", where).keep();
  CHECK(fs::exists(kept));
  io::temporary_directory first = io::temporary_directory::make("t-", where);
  const std::string path = first.path();
  first = io::temporary_directory::make("t-", where);
  CHECK_FALSE(fs::exists(path));
  CHECK(fs::exists(first.path()));
}

IN_RUNTIME("temporary files and directories are not made where nothing can be") {
  const folder here;
  const std::string none = (here / "none").string();
  CHECK(error_of([&] { io::temporary_file::make("t-", none); }) ==
        std::errc::no_such_file_or_directory);
  CHECK(error_of([&] { io::temporary_directory::make("t-", none); }) ==
        std::errc::no_such_file_or_directory);
  CHECK(error_of([&] { io::temporary_file::make(std::string_view("a\0b", 3), none); }) ==
        std::errc::invalid_argument);
}
