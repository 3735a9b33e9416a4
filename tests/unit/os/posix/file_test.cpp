// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/os/os.hpp>

#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/folder.hpp"

namespace os = thrum::os;
using os::open_mode;

namespace {

/// A path at which there is nothing, in a folder of its own.
struct free_path {
  os::io_result open(open_mode mode) const { return os::open_file(path.c_str(), mode, 0600); }
  /// What fcntl(2) says of a file that was opened so.
  int flags_of(open_mode mode) const {
    const os::handle h = os::handle_of(open(mode));
    const int flags = ::fcntl(h, F_GETFL);
    os::close(h);
    return flags;
  }
  support::folder folder;
  std::string path = (folder / "file").string();
};

}  // namespace

TEST_CASE("each mode of opening a file is the system's flag of that meaning") {
  const free_path at;
  CHECK(at.open(open_mode::write) == -ENOENT);
  const os::handle first = os::handle_of(at.open(open_mode::write | open_mode::create));
  CHECK(os::write(first, "four", 4) == 4);
  os::close(first);
  CHECK(at.open(open_mode::write | open_mode::create | open_mode::exclusive) == -EEXIST);
  CHECK((at.flags_of(open_mode::read) & O_ACCMODE) == O_RDONLY);
  CHECK((at.flags_of(open_mode::write) & O_ACCMODE) == O_WRONLY);
  CHECK((at.flags_of(open_mode::read_write) & O_ACCMODE) == O_RDWR);
  CHECK((at.flags_of(open_mode::append) & (O_ACCMODE | O_APPEND)) == (O_WRONLY | O_APPEND));
  CHECK((at.flags_of(open_mode::write | open_mode::synchronous) & O_SYNC) == O_SYNC);
  const os::handle whole = os::handle_of(at.open(open_mode::read));
  CHECK(os::file_size(whole) == 4);
  CHECK((::fcntl(whole, F_GETFD) & FD_CLOEXEC) != 0);
  at.flags_of(open_mode::write | open_mode::truncate);
  CHECK(os::file_size(whole) == 0);
  os::close(whole);
}

TEST_CASE("a position counts from the beginning, from where it is, or from the end") {
  const free_path at;
  const os::handle h = os::handle_of(at.open(open_mode::read_write | open_mode::create));
  REQUIRE(os::write(h, "0123456789", 10) == 10);
  CHECK(os::seek(h, 4, os::seek_from::begin) == 4);
  CHECK(os::seek(h, 2, os::seek_from::current) == 6);
  CHECK(os::seek(h, -1, os::seek_from::end) == 9);
  CHECK(os::seek(h, -1, os::seek_from::begin) == os::invalid);
  os::close(h);
}

TEST_CASE("a file that is removed is gone, and cannot be removed again") {
  const free_path at;
  os::close(os::handle_of(at.open(open_mode::write | open_mode::create)));
  CHECK(os::remove_file(at.path.c_str()) == 0);
  CHECK(at.open(open_mode::read) == -ENOENT);
  CHECK(os::remove_file(at.path.c_str()) == -ENOENT);
}
