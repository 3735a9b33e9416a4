// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The end of programs in which nothing can run any more, looked at from outside; see
// programs/deadlock.cpp for what each does.

#include <thrum/detail/sched/watch/deadlock.hpp>

#include "support/lone_scheduler.hpp"
#include "support/patterns.hpp"
#include "support/program_rows.hpp"
#include "support/test.hpp"

using support::check_programs;

namespace {

/// An emulator has threads of its own, which might wake a goroutine for all we know.
bool threads_are_ours() { return std::getenv("THRUM_TEST_EMULATOR") == nullptr; }

const char* const deadlock_report = "fatal error: all goroutines are asleep - deadlock!";

}  // namespace

TEST_CASE("SimpleDeadlock: a program in which nothing can run any more ends with status 2") {
  if (!threads_are_ours()) {
    return;
  }
  check_programs({
      {"deadlock", 2, nullptr, {deadlock_report}},
      {"deadlock_beside_child", 2, nullptr, {deadlock_report}},  // a detached child process
      {"deadlock_without_host",
       2,
       nullptr,
       {deadlock_report}},  // on_host, and no thread can be one
      {"deadlock_after_output", 2, nullptr, {deadlock_report, "the last words"}},
      {"deadlock_after_timers", 2, nullptr, {deadlock_report, "nothing came"}},
      {"deadlock_after_thread", 2, nullptr, {deadlock_report}},  // that might have helped
  });
}

TEST_CASE("the report of a deadlock lists each goroutine: id, name, reason, how long, from where") {
  if (!threads_are_ours()) {
    return;
  }
  const support::program_result r = support::run_program("deadlock_of_three");
  INFO(r.text);
  CHECK(r.exit_code == 2);
  CHECK(r.says(deadlock_report));
  CHECK(support::has_match(r.text, "goroutine 1 \\[select \\(no cases\\), [0-9]+ ms\\]:"));
  CHECK(support::has_match(r.text,
                           "goroutine [0-9]+ \\[chan send, [0-9]+ ms\\] \"producer\":"
                           "\n(\t.*\n)*\tstarted in .*\\+0x[0-9a-f]+\n"));
  CHECK(support::has_match(r.text, "goroutine [0-9]+ \\[mutex lock, [0-9]+ ms\\] \"locker\":"));
}

TEST_CASE(
    "a goroutine that something may still wake is no deadlock, nor one that is not looked for") {
  for (const char* const name : {"waits_for_thread", "waits_for_timer", "sleeps_for_ever",
                                 "waits_for_system_call", "waits_in_runtime", "waits_undetected"}) {
    const support::program_result r = support::run_program(name);
    INFO(name << ": " << r.text);
    CHECK(r.exit_code == 0);
    CHECK_FALSE(r.says("deadlock"));
  }
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
