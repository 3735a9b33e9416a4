// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sched/run/begin.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"
#include "support/with_runtime.hpp"

#include <cerrno>

TEST_CASE("a goroutine begins with an errno of 0") {
  thrum::runtime runtime(support::with_procs(1));
  int first = -1;
  runtime.block_on([&] {
    errno = EDOM;
    thrum::spawn([&] { first = errno; }).join();
  });
  CHECK(first == 0);
}

TEST_CASE("a goroutine of a loop's kind is held back, runnable, while no thread is free") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  thrum::sched::goroutine& g = scheduler.g();
  scheduler->reserve.note_loop(g);
  CHECK_FALSE(commit_held_back(m, g, nullptr));
  scheduler->reserve.begin_locked();
  CHECK(commit_held_back(m, g, nullptr));
  CHECK(g.status == thrum::sched::g_status::runnable);
  scheduler->reserve.end_locked();
  CHECK(scheduler->reserve.release(1).pop_front() == &g);
}
