// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs in a real-time class: linux/real_time_test.cpp.
#include <thrum/detail/sched/thread/real_time.hpp>

#include <thrum/detail/os/os.hpp>

#include <cstdlib>

#include "support/catch.hpp"

TEST_CASE("outside of the real-time classes there is no priority to speak of") {
  if (std::getenv("THRUM_TEST_EMULATOR") == nullptr) {
    CHECK(thrum::os::real_time_priority() == 0);
    const thrum::sched::raised_priority none;
    CHECK(none.own() == 0);
  }
}
