// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Directories of Windows, and the calls that take paths.
#if defined(_WIN32)

#include "support/folder.hpp"
#include "support/test.hpp"

#include <filesystem>

namespace {

namespace os = thrum::os;
namespace fs = std::filesystem;

template <class Take>
std::string path_from(Take take) {
  char text[4096];
  const os::io_result length = take(text, sizeof text);
  return length < 0 ? "error " + std::to_string(-length)
                    : std::string(text, static_cast<std::size_t>(length));
}

}  // namespace

TEST_CASE("a reader of a directory of Windows gives names in UTF-8") {
  const support::folder here;
  here.write("file", "x");
  fs::create_directory(here / "directory");
  fs::create_directory(fs::path(here / "").concat(u8"\u00e4"));
  std::map<std::string, os::entry_kind> found;
  os::directory_reader reader;
  REQUIRE(reader.open((here / "").string().c_str()) == 0);
  const char* each = nullptr;
  os::entry_kind kind{};
  while (reader.next(each, kind) == 1) {
    found[each] = kind;
  }
  CHECK(found == std::map<std::string, os::entry_kind>{{"directory", os::entry_kind::directory},
                                                       {"file", os::entry_kind::file},
                                                       {"\xc3\xa4", os::entry_kind::directory}});
  os::directory_reader none;
  CHECK(os::error_code_of(none.open((here / "none").string().c_str())) ==
        std::errc::no_such_file_or_directory);
  CHECK(none.open((here / "file").string().c_str()) < 0);
  CHECK(none.open("\xff") == os::invalid);
  CHECK(os::error_code_of(none.open("")) == std::errc::no_such_file_or_directory);
}

TEST_CASE("a tree of Windows is removed to its last name, unless something in it is in use") {
  const support::folder here;
  here.write("tree/a/b/file", "x");
  here.write("tree/a/other", "x");
  here.write("tree/c/file", "x");
  fs::create_directories(here / "tree/d/e/f");
  const std::string tree = (here / "tree").string();
  CHECK(os::remove_tree(tree.c_str()) == 0);
  CHECK_FALSE(fs::exists(tree));
  CHECK(os::remove_tree(tree.c_str()) == 0);
  CHECK(os::remove_tree((here / "none/below").string().c_str()) == 0);
  here.write("tree/file", "x");
  const std::string file = (here / "tree/file").string();
  const auto make_read_only = [&](bool is_read_only) {
    const os::io_result opened = os::open_file(file.c_str(), os::open_mode::write, 0);
    REQUIRE(opened >= 0);
    os::file_status wanted;
    wanted.permissions = is_read_only ? 0444 : 0666;
    CHECK(os::give_rights(os::handle_of(opened), file.c_str(), wanted) == 0);
    os::file_status found;
    CHECK(os::status_of(os::handle_of(opened), found) == 0);
    CHECK(found.permissions == (is_read_only ? 0555U : 0777U));
    if (is_read_only) {
      CHECK(os::remove_tree(tree.c_str()) < 0);
    }
    // Before it is closed: what is read-only cannot be opened for writing.
    wanted.permissions = 0666;
    CHECK(os::give_rights(os::handle_of(opened), file.c_str(), wanted) == 0);
    os::close(os::handle_of(opened));
  };
  make_read_only(true);
  make_read_only(false);
  os::file_status found;
  CHECK(os::status_of_name(file.c_str(), found) == 0);
  CHECK(found.kind == os::entry_kind::file);
  CHECK(os::remove_tree(file.c_str()) == 0);
  CHECK(fs::is_empty(tree));
  CHECK(os::status_of_name(file.c_str(), found) < 0);
  CHECK(os::status_of_target(tree.c_str(), found) == 0);
  CHECK(found.kind == os::entry_kind::directory);
}

TEST_CASE("a file of Windows gets another name, in place of one that is there") {
  const support::folder here;
  here.write("from", "new");
  here.write("to", "older");
  const std::string from = (here / "from").string();
  const std::string to = (here / "to").string();
  CHECK(os::rename_file(from.c_str(), to.c_str()) == 0);
  CHECK_FALSE(fs::exists(from));
  CHECK(fs::file_size(to) == 3);
  CHECK(os::rename_file(from.c_str(), to.c_str()) < 0);
  CHECK(os::rename_file("\xff", to.c_str()) == os::invalid);
}

TEST_CASE("paths that Windows gives are as users write them") {
  const support::folder here;
  here.write("directory/file", "x");
  const std::string path = (here / "directory/../directory/file").string();
  const std::string real =
      path_from([&](char* to, std::size_t room) { return os::real_path(path.c_str(), to, room); });
  CHECK(real.substr(1, 2) == ":\\");
  CHECK(real.find("..") == std::string::npos);
  CHECK(fs::equivalent(real, here / "directory/file"));
  char small[2] = {'?', '?'};
  CHECK(os::real_path(path.c_str(), small, sizeof small) ==
        static_cast<os::io_result>(real.size()));
  CHECK(small[0] == '?');
  CHECK(os::real_path((here / "none").string().c_str(), small, sizeof small) < 0);
  const std::string temporary =
      path_from([](char* to, std::size_t room) { return os::temporary_path(to, room); });
  CHECK(fs::is_directory(temporary));
}

#endif
