// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/parts.hpp>

#include <cerrno>
#include <set>
#include <system_error>
#include <type_traits>

#include "../../../support/catch.hpp"

namespace os = thrum::os;

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
