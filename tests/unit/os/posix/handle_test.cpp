// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/os/os.hpp>

#include <type_traits>

#include "../../../support/catch.hpp"

namespace os = thrum::os;

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
