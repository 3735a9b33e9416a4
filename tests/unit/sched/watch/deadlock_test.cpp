// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The end of programs in which nothing can run any more, looked at from outside; see
// programs/deadlock.cpp for what each does.

#include <thrum/sched/watch/deadlock.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"
#include "support/patterns.hpp"
#include "support/program.hpp"

#include <cstdlib>
#include <string>

using support::program_result;
using support::run_program;

namespace {

/// An emulator has threads of its own, which might wake a goroutine for all we know.
bool threads_are_ours() { return std::getenv("THRUM_TEST_EMULATOR") == nullptr; }

void check_deadlock(const program_result& r) {
  INFO(r.text);
  CHECK(r.signal == 0);
  CHECK(r.exit_code == 2);
  CHECK(r.says("fatal error: all goroutines are asleep - deadlock!"));
}

void check_lives(const program_result& r) {
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK_FALSE(r.says("deadlock"));
}

}  // namespace

TEST_CASE("SimpleDeadlock: main that blocks for ever ends the program with status 2") {
  if (threads_are_ours()) {
    check_deadlock(run_program("deadlock"));
  }
}

TEST_CASE("the report of a deadlock lists each goroutine: id, name, reason, how long, from where") {
  if (!threads_are_ours()) {
    return;
  }
  const program_result r = run_program("deadlock_of_three");
  check_deadlock(r);
  CHECK(support::has_match(r.text, "goroutine 1 \\[select \\(no cases\\), [0-9]+ ms\\]:"));
  CHECK(support::has_match(r.text,
                           "goroutine [0-9]+ \\[chan send, [0-9]+ ms\\] \"producer\":"
                           "\n(\t.*\n)*\tstarted in .*\\+0x[0-9a-f]+\n"));
  CHECK(support::has_match(r.text, "goroutine [0-9]+ \\[mutex lock, [0-9]+ ms\\] \"locker\":"));
}

TEST_CASE("a deadlock is seen although a detached child process runs") {
  if (threads_are_ours()) {
    check_deadlock(run_program("deadlock_beside_child"));
  }
}

TEST_CASE("a deadlock is seen when what is on_host waits for a host and no thread can be one") {
  if (threads_are_ours()) {
    check_deadlock(run_program("deadlock_without_host"));
  }
}

TEST_CASE("what a program wrote before its deadlock is not lost") {
  if (threads_are_ours()) {
    const program_result r = run_program("deadlock_after_output");
    check_deadlock(r);
    CHECK(r.says("the last words"));
  }
}

TEST_CASE("a deadlock is seen when the last timer has been stopped or has fired") {
  if (threads_are_ours()) {
    const program_result r = run_program("deadlock_after_timers");
    check_deadlock(r);
    CHECK(r.says("nothing came"));
  }
}

TEST_CASE("a deadlock is seen when the last thread that might have helped has ended") {
  if (threads_are_ours()) {
    check_deadlock(run_program("deadlock_after_thread"));
  }
}

TEST_CASE("a goroutine that waits for a foreign thread is no deadlock") {
  check_lives(run_program("waits_for_thread"));
}

TEST_CASE("a goroutine that sleeps or waits with a timeout is no deadlock") {
  check_lives(run_program("waits_for_timer"));
}

TEST_CASE("a goroutine that sleeps for the longest time there is is no deadlock") {
  check_lives(run_program("sleeps_for_ever"));
}

TEST_CASE("a goroutine inside a blocking call is no deadlock") {
  check_lives(run_program("waits_for_system_call"));
}

TEST_CASE("a runtime that is not run() reports no deadlock") {
  check_lives(run_program("waits_in_runtime"));
}

TEST_CASE("options::detect_deadlock = false turns the report off") {
  check_lives(run_program("waits_undetected"));
}

TEST_CASE("nothing is dead once the goroutine that run() waits for has ended") {
  support::lone_scheduler scheduler(1);
  thrum::sched::goroutine& first = scheduler.g();
  thrum::sched::goroutine& other = scheduler.g();
  first.id = 1;
  other.id = 2;
  first.status = other.status = thrum::sched::g_status::waiting;
  CHECK(main_lives(*scheduler));
  first.status = thrum::sched::g_status::dead;
  CHECK_FALSE(main_lives(*scheduler));
}
