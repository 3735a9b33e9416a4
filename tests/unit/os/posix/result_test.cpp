// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/parts.hpp>

#include "support/catch.hpp"
#include "support/folder.hpp"

#include <cerrno>
#include <set>
#include <string>
#include <system_error>
#include <type_traits>

#include <fcntl.h>
#include <unistd.h>

namespace os = thrum::os;
using os::open_mode;

TEST_CASE("a result below zero is the error that the system has set") {
  errno = EMFILE;
  CHECK(os::result_of(-1) == -EMFILE);
  CHECK(os::result_of(0) == 0);
  CHECK(os::result_of(7) == 7);
}

TEST_CASE("the error code of a result is the system's, and none from zero on") {
  CHECK(os::error_code_of(-ECONNREFUSED) == std::errc::connection_refused);
  CHECK(os::error_code_of(-ECONNREFUSED).category() == std::system_category());
  CHECK_FALSE(os::error_code_of(0));
  CHECK_FALSE(os::error_code_of(42));
}

TEST_CASE("each name of a result means the condition that a program compares it with") {
  CHECK(os::error_code_of(os::would_block) == std::errc::operation_would_block);
  CHECK(os::error_code_of(os::interrupted) == std::errc::interrupted);
  CHECK(os::error_code_of(os::cancelled) == std::errc::operation_canceled);
  CHECK(os::error_code_of(os::no_memory) == std::errc::not_enough_memory);
  CHECK(os::error_code_of(os::bad_handle) == std::errc::bad_file_descriptor);
  CHECK(os::error_code_of(os::invalid) == std::errc::invalid_argument);
  CHECK(os::error_code_of(os::not_supported) == std::errc::operation_not_supported);
  CHECK(os::error_code_of(os::no_such_process) == std::errc::no_such_process);
  CHECK(os::error_code_of(os::no_offsets) == std::errc::invalid_seek);
  CHECK(os::error_code_of(os::no_address) == std::errc::destination_address_required);
  CHECK(os::error_code_of(os::not_connected) == std::errc::not_connected);
  CHECK(os::error_code_of(os::in_progress) == std::errc::operation_in_progress);
}

TEST_CASE("no two names of results are one number") {
  const std::set<int> all = {
      os::would_block,   os::interrupted, os::cancelled,  os::no_memory,     os::bad_handle,
      os::invalid,       os::no_offsets,  os::no_address, os::not_supported, os::no_such_process,
      os::not_connected, os::in_progress, os::not_armed,  os::always_ready,  os::already_added};
  CHECK(all.size() == 15);
}

TEST_CASE("only too many descriptors and too little memory are a shortage") {
  for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    CHECK(os::out_of_handles(-error));
  }
  for (const int error : {0, EAGAIN, EBADF, ECONNABORTED}) {
    CHECK_FALSE(os::out_of_handles(-error));
  }
  CHECK_FALSE(os::out_of_handles(EMFILE));  // a descriptor of that number
}

TEST_CASE("a handle is the number that the system's calls take") {
  STATIC_REQUIRE(std::is_same_v<os::handle, int>);
  const os::handle null = os::handle_of(os::open_file(os::null_device, os::open_mode::read, 0));
  CHECK(os::is_handle(null));
  CHECK(os::number_of(null) == static_cast<unsigned>(null));
  CHECK(os::close(null) == 0);
}

TEST_CASE("what stands for no descriptor is no handle") {
  STATIC_REQUIRE_FALSE(os::is_handle(os::no_handle));
  STATIC_REQUIRE_FALSE(os::is_handle(-2));
  STATIC_REQUIRE(os::is_handle(0));
  CHECK(os::close(os::no_handle) == os::bad_handle);
}

TEST_CASE("standard streams that are to become others are replaced before they are used") {
  for (int number = 0; number != 3; ++number) {
    for (os::handle h = 0; h != 3; ++h) {
      CHECK(os::is_replaced_before(h, number) == (h != number));
    }
    CHECK_FALSE(os::is_replaced_before(3, number));
    CHECK_FALSE(os::is_replaced_before(os::no_handle, number));
  }
}

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
