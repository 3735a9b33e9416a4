// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The asymmetric fences of Linux.
#include <thrum/detail/os/thread_parts.hpp>

#include "../../../support/catch.hpp"
#include "../../../support/fence_sides.hpp"

#if !THRUM_OS_PORTABLE

using namespace thrum;

TEST_CASE("the light side is free if the kernel has membarrier, and else both sides pay") {
  const os::fence_kind kind = os::prepare_heavy_fence();
  CHECK(kind ==
        (os::membarrier_works ? os::fence_kind::free_light_side : os::fence_kind::on_both_sides));
}

TEST_CASE("without membarrier both fences are full ones") {
  const bool works = os::membarrier_works.exchange(false);
  CHECK(support::both_missed(
            5'000, [] { os::light_fence(); }, [](const os::thread_ref&) { os::heavy_fence(); }) ==
        0);
  os::membarrier_works.store(works);
}

#endif
