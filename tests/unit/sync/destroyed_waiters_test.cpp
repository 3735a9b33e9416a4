// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/sync/destroyed_waiters.hpp>

#include "support/catch.hpp"
#include "support/program.hpp"

#include <csignal>
#include <string>

namespace {

void check_destroyed(const std::string& program, const std::string& what) {
  const support::program_result r = support::run_program(program);
  INFO(program << ": " << r.text);
  CHECK(r.signal == SIGABRT);
  CHECK(r.says("fatal error: thrum: " + what + " is destroyed while 1 goroutine waits in it; "));
  CHECK(r.says("started in "));
  CHECK_FALSE(r.says("came back"));
}

}  // namespace

TEST_CASE("a channel whose last handle goes while a goroutine waits by reference says where") {
  check_destroyed("destroyed_chan", "chan: its last handle");
  check_destroyed("destroyed_chan_in_select", "chan: its last handle");
}

TEST_CASE("a lock that is destroyed while a goroutine waits for it says where") {
  check_destroyed("destroyed_mutex", "mutex: it");
  check_destroyed("destroyed_shared_mutex", "shared_mutex: it");
}

TEST_CASE("a condition variable that is destroyed while a goroutine waits says where") {
  check_destroyed("destroyed_condition_variable", "condition_variable: it");
  check_destroyed("destroyed_condition_variable_any", "condition_variable_any: it");
}

TEST_CASE("a semaphore that is destroyed while a goroutine waits says where") {
  check_destroyed("destroyed_semaphore", "counting_semaphore: it");
  check_destroyed("destroyed_weighted_semaphore", "weighted_semaphore: it");
}

TEST_CASE("a latch, a barrier or a group that is destroyed while a goroutine waits says where") {
  check_destroyed("destroyed_latch", "latch: it");
  check_destroyed("destroyed_barrier", "barrier: it");
  check_destroyed("destroyed_wait_group", "wait_group: it");
  check_destroyed("destroyed_task_group", "task_group: it");
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

TEST_CASE("static objects are destroyed at exit though goroutines wait in them") {
  const support::program_result r = support::run_program("exit_with_waiters");
  INFO(r.text);
  CHECK(r.exit_code == 7);
  CHECK(r.text.empty());
}

TEST_CASE("what a stopped goroutine owns ends the waits of others that are told to end, too") {
  const support::program_result r = support::run_program("stop_with_waiters");
  INFO(r.text);
  CHECK(r.exit_code == 7);
  CHECK(r.text.empty());
}
