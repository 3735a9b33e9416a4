// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The futex call in its two forms.
#include <thrum/os/thread_parts.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>

#if !THRUM_OS_PORTABLE

using namespace thrum;

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
