// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Files of Windows by the calls of its layer.
#if defined(_WIN32)

#include "support/folder.hpp"
#include "support/test.hpp"

namespace {

namespace os = thrum::os;
using os::open_mode;

struct open_file {
  os::io_result result;
  open_file(const std::string& path, open_mode mode)
      : result(os::open_file(path.c_str(), mode, 0666)) {}
  ~open_file() {
    if (result >= 0) {
      os::close(os::handle_of(result));
    }
  }
  os::handle fd() const { return os::handle_of(result); }
};

std::string all_of(os::handle fd) {
  char text[100];
  const os::io_result n = os::read_at(fd, text, sizeof text, 0);
  return n < 0 ? "an error" : std::string(text, static_cast<std::size_t>(n));
}

}  // namespace

TEST_CASE("a file of Windows keeps its position beside reads and writes at places") {
  const support::folder folder;
  const open_file f((folder / "a").string(), open_mode::read_write | open_mode::create);
  REQUIRE(f.result >= 0);
  CHECK(os::write(f.fd(), "0123456789", 10) == 10);
  CHECK(os::seek(f.fd(), 3, os::seek_from::begin) == 3);
  char some[4];
  CHECK(os::read_at(f.fd(), some, 2, 8) == 2);
  CHECK(os::write_at(f.fd(), "ab", 2, 0) == 2);
  CHECK(os::read(f.fd(), some, 2) == 2);
  CHECK(std::string(some, 2) == "34");
  CHECK(all_of(f.fd()) == "ab23456789");
  CHECK(os::read_at(f.fd(), some, 1, 10) == 0);
  CHECK(os::read_at(f.fd(), some, 1, -1) == os::invalid);
  CHECK(os::seek(f.fd(), -1, os::seek_from::begin) == os::invalid);
  CHECK(os::seek(f.fd(), -2, os::seek_from::end) == 8);
  CHECK(os::truncate(f.fd(), 4) == 0);
  CHECK(os::file_size(f.fd()) == 4);
  CHECK(os::sync(f.fd()) == 0);
  const os::io_result other = os::duplicate(f.fd());
  REQUIRE(other >= 0);
  CHECK(all_of(os::handle_of(other)) == "ab23");
  CHECK(os::close(os::handle_of(other)) == 0);
}

TEST_CASE("a file of Windows is opened as its mode says") {
  const support::folder folder;
  const std::string path = (folder / "a").string();
  CHECK(os::error_code_of(open_file(path, open_mode::read).result) ==
        std::errc::no_such_file_or_directory);
  CHECK(open_file(path, open_mode::write | open_mode::create).result >= 0);
  CHECK(os::error_code_of(
            open_file(path, open_mode::write | open_mode::create | open_mode::exclusive).result) ==
        std::errc::file_exists);
  for (int i = 0; i != 2; ++i) {
    const open_file end(path, open_mode::append);
    REQUIRE(end.result >= 0);
    CHECK(os::write(end.fd(), "x", 1) == 1);
    os::file_kind kind;
    CHECK(os::kind_of(end.fd(), kind) == 0);
    CHECK(kind.appends);
    CHECK_FALSE(kind.may_wait);
  }
  const open_file whole(path, open_mode::read);
  CHECK(all_of(whole.fd()) == "xx");
  CHECK(os::write(whole.fd(), "y", 1) < 0);
  CHECK(os::set_nonblocking(whole.fd(), true) == os::not_supported);
  CHECK(os::wait_for(whole.fd(), false, 0) == 1);
  CHECK(open_file(path, open_mode::write | open_mode::truncate).result >= 0);
  CHECK(all_of(whole.fd()).empty());
  CHECK(os::remove_file(path.c_str()) == 0);
  CHECK(os::remove_file("a\xFF") == os::invalid);  // no UTF-8
}

TEST_CASE("what is no handle of Windows is an error") {
  os::file_kind kind;
  const os::handle none = 0x7ff0;
  CHECK(os::kind_of(none, kind) == os::bad_handle);
  CHECK(os::wait_for(none, false, 0) == os::bad_handle);
  CHECK(os::set_nonblocking(none, true) == os::bad_handle);
  CHECK(os::seek(none, 0, os::seek_from::begin) == os::bad_handle);
  CHECK(os::close(none) == os::bad_handle);
}

#endif  // _WIN32
