// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/sched/core/visitors.hpp>

#include <atomic>
#include <thread>

#include "support/catch.hpp"
#include "support/eventually.hpp"

TEST_CASE("where no visitor is nobody waits for one, nor where all have left") {
  thrum::sched::visitors visitors;
  int passed = 0;
  visitors.wait_until_gone();
  ++passed;
  visitors.enter();
  visitors.enter();
  visitors.leave();
  visitors.leave();
  visitors.wait_until_gone();
  ++passed;
  CHECK(passed == 2);
}

TEST_CASE("a thread that waits for visitors to be gone waits for the last of them") {
  thrum::sched::visitors visitors;
  visitors.enter();
  visitors.enter();
  std::atomic<bool> begun{false};
  int touched = 0;  // by the last visitor
  int seen = 0;
  std::thread destroyer([&] {
    begun = true;
    visitors.wait_until_gone();
    seen = touched;
  });
  support::eventually([&] { return begun.load(); });
  visitors.leave();
  thrum::os::sleep_ns(1'000'000);
  touched = 1;
  visitors.leave();
  destroyer.join();
  CHECK(seen == 1);
}
