// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sched/queue/scoped.hpp>

#include "support/catch.hpp"

#include <stdexcept>

namespace {

struct lock_that_counts {
  void lock() { ++locked; }
  void unlock() { ++unlocked; }
  int locked = 0;
  int unlocked = 0;
};

}  // namespace

TEST_CASE("a lock is held to the end of the block that takes it") {
  lock_that_counts lock;
  {
    const thrum::sched::scoped guard(lock);
    CHECK(lock.locked == 1);
    CHECK(lock.unlocked == 0);
  }
  CHECK(lock.unlocked == 1);
}

#if THRUM_EXCEPTIONS
TEST_CASE("a lock is let go when an exception leaves the block that took it") {
  lock_that_counts lock;
  try {
    const thrum::sched::scoped guard(lock);
    throw std::runtime_error("on its way");
  } catch (const std::runtime_error&) {
    CHECK(lock.unlocked == 1);
  }
  CHECK(lock.locked == 1);
}
#endif
