// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/freeze/freeze_holder.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

namespace {

using thrum::sched::attention_freeze;
using thrum::sched::machine;

constexpr std::size_t not_noted = 7;

/// What the holder of a P does in a freeze, on a thread of its own.
struct frozen_holder {
  template <class Step>
  frozen_holder(machine& m, Step step)
      : thread([this, &m, step] {
          step(m);
          goes_on = true;
        }) {}
  ~frozen_holder() { thread.join(); }
  std::atomic<bool> goes_on{false};
  std::thread thread;
};

}  // namespace

TEST_CASE("a thread that holds a processor says in which freeze it waits, and goes on after it") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  const std::uint32_t phase = scheduler->freeze.start();
  scheduler.p(0).attention |= attention_freeze;
  frozen_holder holder(m, [](machine& own) { wait_if_frozen(own); });
  CHECK(support::eventually([&] { return scheduler.p(0).frozen_in == phase; }));
  CHECK_FALSE(holder.goes_on);
  scheduler->freeze.finish();
  CHECK(support::eventually([&] { return holder.goes_on.load(); }));
}

TEST_CASE("a thread that is asked to stand still when the freeze is over goes on") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  const std::uint32_t phase = scheduler->freeze.start();
  scheduler->freeze.finish();
  scheduler.p(0).attention |= attention_freeze;
  wait_if_frozen(m);
  CHECK(scheduler.p(0).frozen_in != phase);
}

TEST_CASE("a thread that was given a processor of which nothing is asked goes on in a freeze") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  const std::uint32_t phase = scheduler->freeze.start();
  wait_if_frozen(m);
  CHECK(scheduler.p(0).frozen_in != phase);
  scheduler->freeze.finish();
}

TEST_CASE(
    "a holder notes its callers for a look at the stacks, and not for the end of the process") {
  for (const bool exits : {false, true}) {
    support::lone_scheduler scheduler(1);
    machine& m = scheduler.holder_of(0);
    m.g = &scheduler.g();  // it is on another stack, which is no call of it
    m.callers.size = not_noted;
    REQUIRE(scheduler->freeze.try_begin_exclusive());
    const std::uint32_t phase =
        exits ? scheduler->freeze.start_for_exit() : scheduler->freeze.start();
    const frozen_holder holder(m, [](machine& own) { wait_while_frozen(own); });
    CHECK(support::eventually([&] { return scheduler.p(0).frozen_in == phase; }));
    CHECK(m.callers.size == (exits ? not_noted : 0));
    if (exits) {
      scheduler->freeze.release_from_exit();
    } else {
      scheduler->freeze.finish();
    }
  }
}

IN_RUNTIME("the callers of a goroutine that runs are noted from its own stack") {
  const thrum::sched::section here;
  machine& m = here.this_m();
  m.callers.size = 0;
  note_callers(m);
  // Of 32-bit Arm's tables, which a walk does not read, there is the place where it stands.
  CHECK(m.callers.size > (THRUM_HAS_ARM_UNWINDER ? 0U : 1U));
}
