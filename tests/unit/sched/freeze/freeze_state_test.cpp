// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/freeze/freeze_state.hpp>

#include "support/child.hpp"
#include "support/test.hpp"

namespace {

using thrum::sched::freeze_state;

}  // namespace

TEST_CASE("one at a time has the right to freeze") {
  freeze_state freeze;
  CHECK(freeze.try_begin_exclusive());
  CHECK_FALSE(freeze.try_begin_exclusive());
  freeze.end_exclusive();
  CHECK(freeze.try_begin_exclusive());
}

TEST_CASE("a thread that wants the right to freeze waits until the other gives it up") {
  freeze_state freeze;
  freeze.begin_exclusive();
  std::atomic<bool> begun{false};
  std::atomic<bool> given_up{false};
  bool in_order = false;
  std::thread second([&] {
    begun = true;
    freeze.begin_exclusive();
    in_order = given_up;
    freeze.end_exclusive();
  });
  support::eventually([&] { return begun.load(); });
  thrum::os::sleep_ns(1'000'000);
  given_up = true;
  freeze.end_exclusive();
  second.join();
  CHECK(in_order);
}

TEST_CASE(
    "all are to stand still from the start of a freeze to its end, each time in a new phase") {
  freeze_state freeze;
  CHECK_FALSE(freeze_state::is_frozen(freeze.phase()));
  const std::uint32_t first = freeze.start();
  CHECK(freeze_state::is_frozen(first));
  CHECK(freeze.phase() == first);
  CHECK(freeze.own_phase() == first);
  freeze.finish();
  CHECK_FALSE(freeze_state::is_frozen(freeze.phase()));
  CHECK_FALSE(freeze_state::is_frozen(freeze.own_phase()));
  const std::uint32_t second = freeze.start();
  CHECK(freeze_state::is_frozen(second));
  CHECK(second != first);
}

TEST_CASE("a freeze within a freeze is refused") {
  CHECK(support::breaks("FS2", [] {
    freeze_state freeze;
    static_cast<void>(freeze.start());
    static_cast<void>(freeze.start());
  }));
}

TEST_CASE("a thread that stands still goes on when the freeze ends, and not before") {
  freeze_state freeze;
  const std::uint32_t phase = freeze.start();
  std::atomic<bool> begun{false};
  std::atomic<bool> ends{false};
  bool in_order = false;
  std::thread still([&] {
    begun = true;
    freeze.wait(phase);
    in_order = ends;
  });
  support::eventually([&] { return begun.load(); });
  thrum::os::sleep_ns(1'000'000);
  ends = true;
  freeze.finish();
  still.join();
  CHECK(in_order);
  freeze.wait(phase);  // it is over
}

TEST_CASE("the freeze of an exit lasts until another thread needs the right to freeze") {
  freeze_state freeze;
  freeze.begin_exclusive();
  CHECK_FALSE(freeze.is_held_by_exit());
  const std::uint32_t phase = freeze.start_for_exit();
  CHECK(freeze.is_held_by_exit());
  CHECK(freeze.phase() == phase);
  CHECK(freeze_state::is_frozen(phase));
  freeze.begin_exclusive();
  CHECK_FALSE(freeze.is_held_by_exit());
  CHECK_FALSE(freeze_state::is_frozen(freeze.phase()));
  CHECK_FALSE(freeze.try_begin_exclusive());
}

TEST_CASE("the freeze of an exit is ended once, and takes its right with it") {
  freeze_state freeze;
  freeze.begin_exclusive();
  const std::uint32_t phase = freeze.start_for_exit();
  freeze.release_from_exit();
  CHECK(freeze.phase() == phase + 1);
  REQUIRE(freeze.try_begin_exclusive());
  freeze.release_from_exit();
  CHECK(freeze.phase() == phase + 1);
  CHECK_FALSE(freeze.try_begin_exclusive());
}

TEST_CASE("the end of an exit's freeze leaves another's freeze alone") {
  freeze_state freeze;
  freeze.begin_exclusive();
  const std::uint32_t phase = freeze.start();
  freeze.release_from_exit();
  CHECK(freeze.phase() == phase);
  CHECK_FALSE(freeze.try_begin_exclusive());
}
