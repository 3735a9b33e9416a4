// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Times as system calls take them.
#include <thrum/os/linux/kernel_time.hpp>

#include <cstdint>

#include "../../../support/catch.hpp"

using namespace thrum;

TEST_CASE("the kernel's own time keeps what its words hold, and no less than the largest") {
  const auto wide = os::kernel_time::from(INT64_MAX);
  CHECK(wide.seconds == INT64_MAX / os::nanoseconds_per_second);
  CHECK(wide.nanoseconds == INT64_MAX % os::nanoseconds_per_second);
  const auto narrow = os::kernel_time_of<std::int32_t>::from(INT64_MAX);
  CHECK(narrow.seconds == INT32_MAX);
  CHECK(os::kernel_time_of<std::int32_t>::from(3'000'000'007).seconds == 3);
  CHECK(os::kernel_time_of<std::int32_t>::from(3'000'000'007).nanoseconds == 7);
}
