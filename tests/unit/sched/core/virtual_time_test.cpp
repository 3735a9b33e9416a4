// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/core/virtual_time.hpp>

#include "support/catch.hpp"

using thrum::sched::wait_reason;

TEST_CASE("a runtime's clock is virtual if it was given one") {
  thrum::sched::virtual_clock own;
  CHECK_FALSE(thrum::sched::runtime_clock().is_virtual());
  CHECK_FALSE(thrum::sched::runtime_clock(nullptr).is_virtual());
  const thrum::sched::runtime_clock clock(&own);
  CHECK(clock.is_virtual());
  CHECK(&clock.own() == &own);
}

TEST_CASE("a virtual clock stands at 0, and nothing has begun or come of it") {
  const thrum::sched::virtual_clock clock;
  CHECK(clock.now == 0);
  CHECK_FALSE(clock.has_begun);
  CHECK(clock.outcome == thrum::sched::virtual_clock::state::runs);
  CHECK_FALSE(clock.settled.is_set());
}

TEST_CASE("a wait that only goroutines of its own bubble or time can end is durable") {
  for (const wait_reason reason :
       {wait_reason::sleep, wait_reason::chan_receive, wait_reason::chan_send,
        wait_reason::chan_receive_nil, wait_reason::chan_send_nil, wait_reason::join,
        wait_reason::wait_group_wait, wait_reason::select, wait_reason::select_no_cases,
        wait_reason::cond_wait, wait_reason::semaphore_acquire, wait_reason::latch_wait,
        wait_reason::barrier_wait, wait_reason::once_wait, wait_reason::generator_turn,
        wait_reason::task_group_wait, wait_reason::bubble_wait, wait_reason::memory_pipe_read,
        wait_reason::memory_pipe_write}) {
    INFO(thrum::sched::describe(reason));
    CHECK(thrum::sched::is_durable(reason));
  }
}

TEST_CASE("a wait that something outside may end is not durable: of a lock, a descriptor, a name") {
  for (const wait_reason reason :
       {wait_reason::none, wait_reason::mutex_lock, wait_reason::shared_mutex_lock,
        wait_reason::shared_mutex_lock_shared, wait_reason::io_read, wait_reason::io_write,
        wait_reason::io_close, wait_reason::name_look_up}) {
    INFO(thrum::sched::describe(reason));
    CHECK_FALSE(thrum::sched::is_durable(reason));
  }
}
