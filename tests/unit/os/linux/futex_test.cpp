// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The futex call in its two forms, and times as system calls take them.
#include <thrum/detail/os/linux/kernel_time.hpp>
#include <thrum/detail/os/thread_parts.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>

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

#if !THRUM_OS_PORTABLE

TEST_CASE("either form of the futex call waits as long as it is told") {
  for (const auto form : {os::futex_form::with_long_seconds, os::futex_form::with_64_bits}) {
    std::atomic<std::uint32_t> word{0};
    const std::int64_t start = os::now();
    CHECK(os::call_futex_wait(form, word, 0, 5'000'000) == -1);
    CHECK(errno == ETIMEDOUT);
    CHECK(os::now() - start >= 5'000'000);
  }
}

#endif
