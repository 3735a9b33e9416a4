// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the last M of a scheduler with a virtual clock does before it sleeps, case by case; what
// users see of it is in testing/bubble_test.cpp.
#include <thrum/detail/sched/core/scheduler.hpp>

#include "support/bare_scheduler.hpp"
#include "support/test.hpp"

namespace {

using thrum::sched::g_status;
using thrum::sched::goroutine;
using thrum::sched::wait_reason;
using clock_state = thrum::sched::virtual_clock::state;

/// A scheduler in which nothing runs any more, and which has begun.
struct quiet_scheduler {
  quiet_scheduler() : scheduler(2, {}, &clock) {
    REQUIRE(scheduler.open() == 0);
    scheduler->poll.end_sleep(1);
    clock.has_begun = true;
  }
  /// Whether an M must look for work.
  bool resume() {
    const thrum::sched::scoped guard(scheduler->idle.lock());
    return scheduler->resume_quiet_locked();
  }
  /// A goroutine that was started and stands there.
  goroutine& add(g_status status, wait_reason reason) {
    goroutine* const g = scheduler->pool->take(scheduler->config().stack_class);
    REQUIRE(g != nullptr);
    g->status = status;
    g->reason = reason;
    scheduler->ps[0].counts.created.add();
    return *g;
  }

  thrum::sched::virtual_clock clock;
  support::bare_scheduler scheduler;
};

/// A timer that is armed on a P.
struct armed_timer {
  armed_timer(quiet_scheduler& of, unsigned p, std::int64_t when) {
    of.scheduler->ps[p].timers.add(timer, when);
  }
  ~armed_timer() { thrum::sched::timer_heap<thrum::sched::traits>::detach(timer); }
  armed_timer(const armed_timer&) = delete;
  armed_timer& operator=(const armed_timer&) = delete;

  thrum::sched::basic_timer<thrum::sched::traits> timer;
};

}  // namespace

TEST_CASE("V1: a goroutine that waits until all others stand goes on, before time does") {
  quiet_scheduler quiet;
  goroutine& waiter = quiet.add(g_status::waiting, wait_reason::bubble_wait);
  const armed_timer timer(quiet, 0, 100);
  quiet.clock.quiet_waiters.push_back(&waiter);
  CHECK(quiet.resume());
  CHECK(quiet.clock.now == 0);
  CHECK(waiter.status == g_status::runnable);
  CHECK(quiet.scheduler->global.pop() == &waiter);
  CHECK(quiet.clock.quiet_waiters.empty());
}

TEST_CASE("V2: the clock stands while something outside of the bubble may end a goroutine's wait") {
  quiet_scheduler quiet;
  goroutine& g = quiet.add(g_status::waiting, wait_reason::mutex_lock);
  const armed_timer timer(quiet, 0, 100);
  CHECK_FALSE(quiet.resume());
  CHECK(quiet.clock.now == 0);
  g.reason = wait_reason::chan_receive;
  CHECK(quiet.resume());
  CHECK(quiet.clock.now == 100);
}

TEST_CASE("V2: the clock stands while a runnable goroutine is on its way to a queue") {
  quiet_scheduler quiet;
  goroutine& g = quiet.add(g_status::runnable, wait_reason::none);
  CHECK_FALSE(quiet.resume());
  CHECK(quiet.clock.outcome == clock_state::runs);
  g.status = g_status::waiting;
  g.reason = wait_reason::sleep;
  const armed_timer timer(quiet, 0, 100);
  CHECK(quiet.resume());
}

TEST_CASE("V3: the clock jumps to the earliest timer of all Ps, and an M looks for work") {
  quiet_scheduler quiet;
  const armed_timer later(quiet, 0, 300);
  const armed_timer earlier(quiet, 1, 200);
  CHECK(quiet.resume());
  CHECK(quiet.clock.now == 200);
}

TEST_CASE("V3: the clock is not put back by a timer that was due before") {
  quiet_scheduler quiet;
  quiet.clock.now = 500;
  const armed_timer timer(quiet, 0, 200);
  CHECK(quiet.resume());
  CHECK(quiet.clock.now == 500);
}

TEST_CASE("V4: the owner of a clock learns that no goroutine is left") {
  quiet_scheduler quiet;
  CHECK_FALSE(quiet.resume());
  CHECK(quiet.clock.outcome == clock_state::ended);
  CHECK(quiet.clock.settled.is_set());
}

TEST_CASE("V4: the owner of a clock learns, once, that no goroutine can ever run again") {
  quiet_scheduler quiet;
  quiet.add(g_status::waiting, wait_reason::chan_receive);
  CHECK_FALSE(quiet.resume());
  CHECK(quiet.clock.outcome == clock_state::deadlocked);
  CHECK(quiet.clock.settled.is_set());
  quiet.scheduler->ps[0].counts.finished.add_release();
  CHECK_FALSE(quiet.resume());
  CHECK(quiet.clock.outcome == clock_state::deadlocked);
}

TEST_CASE(
    "before the first goroutine, and while a thread searches, a virtual clock is left alone") {
  quiet_scheduler quiet;
  const armed_timer timer(quiet, 0, 100);
  quiet.clock.has_begun = false;
  CHECK_FALSE(quiet.resume());
  quiet.clock.has_begun = true;
  const auto searcher = quiet.scheduler.stray_m();
  quiet.scheduler->idle.begin_spinning(*searcher);
  CHECK_FALSE(quiet.resume());
  CHECK(quiet.clock.now == 0);
  quiet.scheduler->idle.end_spinning(*searcher);
  CHECK(quiet.resume());
}
