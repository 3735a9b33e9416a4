// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The thread that tells a main loop by itself. With a runtime: on_host_work_test.cpp.
#include <thrum/sched/core/host_bell.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"

#include <atomic>

using thrum::sched::host_bell;

TEST_CASE("a bell that is rung during a call calls once more") {
  struct calls {
    host_bell* bell = nullptr;
    std::atomic<int> times{0};
  } seen;
  host_bell bell(
      [](void* own) {
        auto& all = *static_cast<calls*>(own);
        if (++all.times != 3) {
          all.bell->ring();
        }
      },
      &seen);
  seen.bell = &bell;
  REQUIRE(bell.start() == 0);
  bell.ring();
  CHECK(support::eventually([&] { return seen.times == 3; }));
}

TEST_CASE("a bell that never started, or was never rung, ends without a call") {
  std::atomic<int> calls{0};
  const auto count = [](void* own) { ++*static_cast<std::atomic<int>*>(own); };
  { const host_bell silent(count, &calls); }
  {
    host_bell bell(count, &calls);
    REQUIRE(bell.start() == 0);
  }
  CHECK(calls == 0);
}
