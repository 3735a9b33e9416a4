// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A file that Linux opens anew by the number that it has already.
// Access control lists of Linux, whose mask stands where a file without one has its group's permissions.

#include <thrum/io/whole_file.hpp>

#include "support/folder.hpp"
#include "support/test.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

using thrum::io::file;

TEST_CASE("standard input that is opened anew can be closed under its reader") {
  with_runtime([&] {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    file f = file::open("/proc/self/fd/" + std::to_string(ends[0]));
    CHECK((::fcntl(ends[0], F_GETFL) & O_NONBLOCK) == 0);
    auto reader = thrum::spawn([&] {
      char one;
      return error_of([&] { f.read(std::span(&one, 1)); });
    });
    REQUIRE(support::eventually([] { return thrum::stats().waiting >= 1; }));
    f.close();
    CHECK(reader.join() == std::errc::operation_canceled);
    ::close(ends[0]);
    ::close(ends[1]);
  });
}

namespace {

constexpr const char* access_list = "system.posix_acl_access";

/// As the kernel takes it: two numbers and the one whom it is about, for each entry.
struct list_entry {
  std::uint16_t tag;
  std::uint16_t permissions;
  std::uint32_t who;
};
struct list_of_five {
  std::uint32_t version = 2;
  list_entry entries[5];
};

std::vector<char> list_of(const std::string& path) {
  std::vector<char> list(1024);
  const ::ssize_t size = ::getxattr(path.c_str(), access_list, list.data(), list.size());
  list.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return list;
}

}  // namespace

TEST_CASE("an atomic write keeps an access list, and takes none from the folder") {
  constexpr std::uint32_t nobody = UINT32_MAX;
  constexpr std::uint32_t guest = 4711;
  const list_of_five list{
      .entries = {{1, 6, nobody}, {2, 6, guest}, {4, 0, nobody}, {16, 6, nobody}, {32, 0, nobody}}};
  const support::folder here;
  const std::string path = (here / "file").string();
  here.write("file", "old");
  if (::setxattr(path.c_str(), access_list, &list, sizeof list, 0) != 0) {
    return;  // this file system has none
  }
  const std::vector<char> before = list_of(path);
  REQUIRE(before.size() == sizeof list);
  thrum::io::write_file(path, "new", {.atomic = true});
  CHECK(list_of(path) == before);
  // Files that are made here from now on get one.
  REQUIRE(::setxattr((here / "").c_str(), "system.posix_acl_default", &list, sizeof list, 0) == 0);
  REQUIRE(::removexattr(path.c_str(), access_list) == 0);
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  thrum::io::write_file(path, "newer", {.atomic = true});
  CHECK(list_of(path).empty());
  struct ::stat about {};
  REQUIRE(::stat(path.c_str(), &about) == 0);
  CHECK((about.st_mode & 07777) == 0640);
}
