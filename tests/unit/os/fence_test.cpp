// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The asymmetric fences.
#include <thrum/detail/os/os.hpp>

#include "../../support/catch.hpp"
#include "../../support/fence_sides.hpp"

using namespace thrum;

TEST_CASE("of a light and a heavy fence at least one side sees the other's store") {
  os::prepare_heavy_fence();
  CHECK(support::both_missed(
            5'000, [] { os::light_fence(); }, [](const os::thread_ref&) { os::heavy_fence(); }) ==
        0);
}

TEST_CASE("a heavy fence for the thread of the other side alone is one") {
  os::prepare_heavy_fence();
  CHECK(support::both_missed(
            5'000, [] { os::light_fence(); },
            [](const os::thread_ref& other) { os::heavy_fence_for(other); }) == 0);
}

TEST_CASE("of what kind the fences are is the same whenever they are prepared") {
  CHECK(os::prepare_heavy_fence() == os::prepare_heavy_fence());
}
