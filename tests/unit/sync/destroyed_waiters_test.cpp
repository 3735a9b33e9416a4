// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sync/destroyed_waiters.hpp>

#include "support/catch.hpp"
#include "support/program.hpp"

#include <csignal>
#include <string>

TEST_CASE(
    "a primitive that is destroyed while a goroutine waits in it is reported, with its start") {
  struct row {
    const char* program;
    const char* what;
  };
  for (const row& each :
       {row{"destroyed_chan", "chan: its last handle"},
        row{"destroyed_chan_in_select", "chan: its last handle"},
        row{"destroyed_mutex", "mutex: it"}, row{"destroyed_shared_mutex", "shared_mutex: it"},
        row{"destroyed_condition_variable", "condition_variable: it"},
        row{"destroyed_condition_variable_any", "condition_variable_any: it"},
        row{"destroyed_semaphore", "counting_semaphore: it"},
        row{"destroyed_weighted_semaphore", "weighted_semaphore: it"},
        row{"destroyed_latch", "latch: it"}, row{"destroyed_barrier", "barrier: it"},
        row{"destroyed_wait_group", "wait_group: it"},
        row{"destroyed_task_group", "task_group: it"}}) {
    const support::program_result r = support::run_program(each.program);
    INFO(each.program << ": " << r.text);
    CHECK(r.signal == SIGABRT);
    CHECK(r.says(std::string("fatal error: thrum: ") + each.what +
                 " is destroyed while 1 goroutine waits in it; "));
    CHECK(r.says("started in "));
    CHECK_FALSE(r.says("came back"));
  }
}

TEST_CASE("a wait_group that is destroyed before its goroutines are done says so") {
  const support::program_result r = support::run_program("wait_group_without_wait");
  INFO(r.text);
  CHECK(r.signal == SIGABRT);
  CHECK(r.says("fatal error: thrum: wait_group: it is destroyed while its count is 1; "));
}

TEST_CASE("an exception that leaves the scope of a wait_group early can be handled") {
  const support::program_result r = support::run_program("wait_group_left_by_an_exception");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("on the way to wait()"));
}

TEST_CASE(
    "static objects and a stopped goroutine's locals go without a report though goroutines wait") {
  for (const char* const program : {"exit_with_waiters", "stop_with_waiters"}) {
    const support::program_result r = support::run_program(program);
    INFO(program << ": " << r.text);
    CHECK(r.exit_code == 7);
    CHECK(r.text.empty());
  }
}
