// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/steal.hpp>

#include <thrum/detail/sched/run/syscall.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"

#include <cstdint>

namespace {

using thrum::sched::goroutine;
using thrum::sched::steal_work;
using thrum::sched::stolen;
using timer_of_victim = thrum::sched::basic_timer<thrum::sched::traits>;

void fill_ring(support::lone_scheduler& scheduler, unsigned p, int n) {
  for (int i = 0; i != n; ++i) {
    scheduler.push(p, scheduler.g());
  }
}

int times_fired = 0;

}  // namespace

TEST_CASE("a thief takes half of another processor's ring and leaves its runnext") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& thief = scheduler.holder_of(0);
  scheduler.holder_of(1);
  fill_ring(scheduler, 1, 8);
  goroutine& next = scheduler.g();
  scheduler.set_runnext(1, next);
  const stolen found = steal_work(thief);
  CHECK(found.g != nullptr);
  CHECK(scheduler.p(0).queue.ring_size() == 3);
  CHECK(scheduler.p(1).queue.ring_size() == 4);
  CHECK(scheduler.p(1).queue.peek_runnext() == &next);
  CHECK(scheduler.p(0).counts.steals.get() == 4);
}

TEST_CASE(
    "a thief that finds nothing else takes runnext, and its owner's credit for help returns") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& thief = scheduler.holder_of(0);
  scheduler.holder_of(1);
  goroutine& next = scheduler.g();
  scheduler.set_runnext(1, next);
  scheduler.p(1).wake_credit = 0;
  CHECK(steal_work(thief).g == &next);
  CHECK(scheduler.p(1).wake_credit == thrum::sched::traits::wake_credit);
}

TEST_CASE("a runnext is worth a move if goroutines there run long, or none has come to its end") {
  using thrum::sched::is_worth_a_move;
  constexpr std::int64_t least = thrum::sched::traits::worth_a_move_ns;
  CHECK(is_worth_a_move(0, 0));
  CHECK(is_worth_a_move(1, 0));
  CHECK(is_worth_a_move(least, 1));
  CHECK_FALSE(is_worth_a_move(least - 1, 1));
  CHECK(is_worth_a_move(1'000 * least, 1'000));
  CHECK_FALSE(is_worth_a_move(1'000 * least - 1, 1'000));
}

TEST_CASE(
    "a runnext that was there at the last look waits only if the processor has hardly switched") {
  using thrum::sched::is_runnext_stuck;
  support::lone_scheduler scheduler(2);
  scheduler.holder_of(1);
  thrum::sched::processor& p = scheduler.p(1);
  thrum::sched::what_was_seen seen;
  constexpr std::int64_t round = 4 * thrum::sched::traits::worth_a_move_ns;
  std::int64_t now = round;
  const auto looks = [&](int switches) {
    for (int i = 0; i != switches; ++i) {
      p.counts.switches.add();
    }
    return is_runnext_stuck(p, seen, now += round);
  };
  CHECK_FALSE(looks(0));  // it has none
  scheduler.set_runnext(1, scheduler.g());
  CHECK_FALSE(looks(0));  // it is new
  CHECK(looks(0));
  CHECK(looks(4));  // it has come back, and the four ran for long
  CHECK_FALSE(looks(5));
  CHECK(looks(0));
  CHECK(p.queue.take_runnext() != nullptr);
  CHECK_FALSE(looks(0));
}

TEST_CASE("a thief looks at all rings before it takes a runnext") {
  support::lone_scheduler scheduler(3);
  thrum::sched::machine& thief = scheduler.holder_of(0);
  scheduler.holder_of(1);
  scheduler.holder_of(2);
  scheduler.set_runnext(1, scheduler.g());
  for (int i = 0; i != 20; ++i) {  // it begins at either of them
    goroutine& g = scheduler.g();
    scheduler.push(2, g);
    REQUIRE(steal_work(thief).g == &g);
  }
}

TEST_CASE("a thief takes from the processor of a thread that is inside a call") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& thief = scheduler.holder_of(0);
  thrum::sched::machine& caller = scheduler.holder_of(1);
  caller.g = &scheduler.g();
  fill_ring(scheduler, 1, 1);
  thrum::sched::enter_syscall(caller);
  CHECK(steal_work(thief).g != nullptr);
}

TEST_CASE("a thief runs the due timers of others and then searches no further") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& thief = scheduler.holder_of(0);
  scheduler.holder_of(1);
  timer_of_victim due;
  due.fire = [](timer_of_victim&, bool) noexcept { ++times_fired; };
  times_fired = 0;
  scheduler.p(1).timers.add(due, 1);
  goroutine& next = scheduler.g();
  scheduler.set_runnext(1, next);  // only the last round comes to it, too
  const stolen found = steal_work(thief);
  CHECK(times_fired == 1);
  CHECK(found.ran_timers);
  CHECK(found.g == nullptr);
  CHECK(scheduler.p(1).queue.peek_runnext() == &next);
}

TEST_CASE("a search that finds nothing returns the earliest timer of all other processors") {
  support::lone_scheduler scheduler(4);
  thrum::sched::machine& thief = scheduler.holder_of(0);
  const std::int64_t distant = thrum::sched::traits::now() + 3'600'000'000'000;
  timer_of_victim timers[3];
  const std::int64_t order[3] = {2, 1, 3};
  for (unsigned i = 0; i != 3; ++i) {
    scheduler.p(i + 1).timers.add(timers[i], distant + order[i]);  // idle Ps have timers, too
  }
  const stolen found = steal_work(thief);
  CHECK(found.g == nullptr);
  CHECK_FALSE(found.ran_timers);
  CHECK(found.next_timer == distant + 1);
}

TEST_CASE("a search walks over the processors that there are now, until the scheduler closes") {
  support::lone_scheduler scheduler(3);
  thrum::sched::machine& thief = scheduler.holder_of(0);
  scheduler.holder_of(2);
  thief.order.reset(2);  // as of an earlier search
  fill_ring(scheduler, 2, 1);
  CHECK(steal_work(thief).g != nullptr);
  fill_ring(scheduler, 2, 2);
  scheduler->closing = true;
  CHECK(steal_work(thief).g == nullptr);
}
