// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How goroutines are held and let go. What it means for programs that exit is in
// unit/os/posix/process_test.cpp: here no process does.

#include <thrum/detail/sched/life/process_exit.hpp>

#include <thrum/detail/sched/core/lifetime.hpp>
#include <thrum/detail/sched/freeze/freeze_holder.hpp>

#include "support/bare_scheduler.hpp"
#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

namespace {

using thrum::sched::process_exit;

/// A thread that holds a P and comes by all the time to do what is asked of it.
struct held_at_exit {
  explicit held_at_exit(thrum::sched::machine& m)
      : thread([this, &m] {
          while (!stop) {
            wait_if_frozen(m);
            ++steps;
          }
        }) {}
  ~held_at_exit() {
    stop = true;
    thread.join();
  }
  std::atomic<bool> stop{false};
  std::atomic<int> steps{0};
  std::thread thread;
};

/// A thread that holds a P and computes: only an interruption makes it come by.
struct computing_at_exit {
  explicit computing_at_exit(thrum::sched::machine& m)
      : takes_signals(m.for_signals.reserve()), thread([this, &m] {
          m.interruption.argument = &asked;
          m.interruption.interrupt = [](void* argument) noexcept {
            static_cast<std::atomic<bool>*>(argument)->store(true);
          };
          m.self.open();
          if (takes_signals) {
            m.for_signals.open(m.interruption);
          }
          opened = true;
          while (!asked && !stop) {
          }
          wait_if_frozen(m);
          m.self.close();
          if (takes_signals) {
            m.for_signals.close();
          }
        }) {}
  ~computing_at_exit() {
    stop = true;
    thread.join();
  }
  std::atomic<bool> stop{false};
  std::atomic<bool> asked{false};
  std::atomic<bool> opened{false};
  const bool takes_signals;
  std::thread thread;
};

}  // namespace

TEST_CASE("the holder of a processor stands still while the process exits, until it is released") {
  support::lone_scheduler scheduler(2);
  held_at_exit holder(scheduler.holder_of(0));
  CHECK_FALSE(process_exit::holds(*scheduler));
  process_exit::hold(*scheduler);
  CHECK(process_exit::holds(*scheduler));
  CHECK(scheduler->exit_of_process.has_begun());
  // hold() has waited for it, but on a busy machine not for ever.
  CHECK(support::eventually(
      [&] { return scheduler.p(0).frozen_in == scheduler->freeze.own_phase(); }));
  const int steps = holder.steps;
  std::this_thread::yield();
  CHECK(holder.steps == steps);
  scheduler->freeze.release_from_exit();
  CHECK(support::eventually([&] { return holder.steps > steps + 10; }));
  CHECK_FALSE(process_exit::holds(*scheduler));
  CHECK(scheduler->exit_of_process.has_begun());
}

TEST_CASE("a thread that computes when the process exits is interrupted, to stand still") {
  if (!thrum::os::has_preempt_signal) {
    return;
  }
  thrum::os::install_preempt_handler();
  thrum::sched::scheduler_config config = support::lone_scheduler::quiet();
  config.interrupts = true;
  support::lone_scheduler scheduler(1, config);
  computing_at_exit holder(scheduler.holder_of(0));
  CHECK(support::eventually([&] { return holder.opened.load(); }));
  process_exit::hold(*scheduler);
  CHECK(support::eventually(
      [&] { return scheduler.p(0).frozen_in == scheduler->freeze.own_phase(); }));
  CHECK(holder.asked);
  scheduler->freeze.release_from_exit();
}

TEST_CASE("a thread that is in a call when the process exits stands still when it comes back") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  m.g = &scheduler.g();
  enter_syscall(m);
  process_exit::hold(*scheduler);
  std::atomic<bool> goes_on{false};
  std::thread caller([&] {
    static_cast<void>(take_from_syscall(m, scheduler.p(0)));
    wait_if_frozen(m);
    goes_on = true;
  });
  CHECK(support::eventually(
      [&] { return scheduler.p(0).frozen_in == scheduler->freeze.own_phase() || goes_on; }));
  CHECK_FALSE(goes_on);
  scheduler->freeze.release_from_exit();
  caller.join();
}

TEST_CASE("a look at all stacks while the process exits lets the goroutines continue") {
  support::lone_scheduler scheduler(1);
  process_exit::hold(*scheduler);
  scheduler->freeze.begin_exclusive();
  CHECK_FALSE(process_exit::holds(*scheduler));
  scheduler->freeze.end_exclusive();
}

TEST_CASE("the thread that exits waits for a look at all stacks to be over, but not for ever") {
  support::lone_scheduler scheduler(1);
  const auto begin = std::chrono::steady_clock::now();
  scheduler->freeze.begin_exclusive();
  std::thread exiter([&] { process_exit::hold(*scheduler); });
  CHECK(support::eventually([&] { return scheduler->exit_of_process.has_begun(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK_FALSE(process_exit::holds(*scheduler));
  scheduler->freeze.end_exclusive();
  exiter.join();
  const bool has_waited_for_long =
      std::chrono::steady_clock::now() - begin >= std::chrono::seconds(1);
  CHECK((process_exit::holds(*scheduler) || has_waited_for_long));
  scheduler->freeze.release_from_exit();
}

TEST_CASE("no thread counts as the exiting one before the process exits") {
  CHECK_FALSE(process_exit::is_mine());
}

TEST_CASE("a scheduler knows that the process exits once it is held for that, and others do not") {
  support::bare_scheduler held(1);
  support::bare_scheduler other(1);
  REQUIRE(held.open() == 0);
  CHECK_FALSE(held->exit_of_process.has_begun());
  thrum::sched::process_exit::hold(*held);
  CHECK(held->exit_of_process.has_begun());
  CHECK_FALSE(other->exit_of_process.has_begun());
}
