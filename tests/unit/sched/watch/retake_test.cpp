// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/watch/retake.hpp>

#include "support/test.hpp"

#include <csignal>

#if !defined(_WIN32)
#include <pthread.h>
#endif

#include "support/lone_scheduler.hpp"
#include "support/sees_threads.hpp"

namespace {

#if !defined(_WIN32)

void block_all_signals_here() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

bool is_blocked_here(int number) {
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, number) == 1;
}

#endif

/// Computes until it is told to end; false if it never was.
bool compute_until_told(const std::atomic<bool>& told) {
  const auto end = std::chrono::steady_clock::now() + support::long_time;
  while (!told) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
  }
  return true;
}

const thrum::options one_short_slice{.procs = 1, .time_slice = 1ms};

/// Whether a loop loses its processor at all: then the timer's goroutine runs beside it.
constexpr bool loops_are_interrupted = thrum::os::has_preempt_signal;

}  // namespace

#if !defined(_WIN32)  // there are no signals to block

TEST_CASE("a loop delays no other goroutine on a thread whose signals a goroutine left blocked") {
  if (!loops_are_interrupted) {
    return;
  }
  thrum::runtime runtime(one_short_slice);
  CHECK(runtime.block_on([] {
    // Nothing else runs: the next goroutine runs on the thread of this one.
    thrum::spawn([] { block_all_signals_here(); }).join();
    std::atomic<bool> told{false};
    auto loop = thrum::spawn([&] { return compute_until_told(told); });
    thrum::sleep_for(2ms);
    told = true;
    return loop.join();
  }));
}

TEST_CASE("a loop that blocked all signals delays no other goroutine") {
  if (!loops_are_interrupted) {
    return;
  }
  thrum::runtime runtime(one_short_slice);
  CHECK(runtime.block_on([] {
    std::atomic<bool> told{false};
    auto loop = thrum::spawn([&] {
      block_all_signals_here();
      return compute_until_told(told);
    });
    thrum::sleep_for(2ms);
    told = true;
    return loop.join();
  }));
}

TEST_CASE("a thread that was found to hear no signal hears the scheduler's again, and no other") {
  if (!loops_are_interrupted) {
    return;
  }
  bool hears = false;
  // On a busy machine the thread waits for a CPU, and its processor is taken without a signal.
  const auto end = std::chrono::steady_clock::now() + support::long_time;
  while (!hears && std::chrono::steady_clock::now() < end) {
    thrum::runtime runtime(one_short_slice);
    runtime.block_on([&] {
      std::atomic<bool> told{false};
      auto loop = thrum::spawn([&] {
        const thrum::thread_lock same_thread;
        block_all_signals_here();
        CHECK(is_blocked_here(thrum::os::preempt_signal));
        const bool was_told = compute_until_told(told);
        thrum::this_goroutine::yield();
        hears = !is_blocked_here(thrum::os::preempt_signal);
        CHECK(is_blocked_here(SIGUSR1));
        return was_told;
      });
      thrum::sleep_for(2ms);
      told = true;
      CHECK(loop.join());
    });
  }
  CHECK(hears);
}

TEST_CASE("a thread that hears signals again gives its processor up by them") {
  if (!loops_are_interrupted) {
    return;
  }
  thrum::runtime runtime(one_short_slice);
  runtime.block_on([] {
    const auto end = std::chrono::steady_clock::now() + support::long_time;
    bool has_been_signalled = false;
    // On a busy machine a loop may lose its processor in another way: then one of the next shows it.
    for (int round = 0;
         round < 5 || (!has_been_signalled && std::chrono::steady_clock::now() < end); ++round) {
      std::atomic<bool> told{false};
      auto loop = thrum::spawn([&] {
        if (round % 5 == 0) {
          block_all_signals_here();
        }
        return compute_until_told(told);
      });
      thrum::sleep_for(2ms);
      told = true;
      CHECK(loop.join());
      const thrum::stats_snapshot s = thrum::stats();
      has_been_signalled = s.retakes != 0 && s.signals != 0 && s.preemptions != 0;
    }
  });
  const thrum::stats_snapshot s = runtime.stats();
  CHECK(s.retakes >= 1);
  CHECK(s.signals >= 1);
  CHECK(s.preemptions >= 1);
}

#endif

TEST_CASE("a thread that computes after its processor was taken from it is stopped") {
  if (!loops_are_interrupted) {
    return;
  }
  std::atomic<bool> told{false};
  thrum::runtime runtime(one_short_slice);
  auto other = runtime.spawn([&] { return compute_until_told(told); });
  // A system that does not say that a thread sleeps is given time.
  const std::chrono::nanoseconds long_enough(
      support::system_sees_threads() ? 5'000'000 : 2 * thrum::sched::traits::silent_ns);
  auto blocks = runtime.spawn([&] {
    while (!told) {
      std::this_thread::sleep_for(long_enough);  // the processor goes to the other
      const auto end = std::chrono::steady_clock::now() + 20ms;
      while (!told && std::chrono::steady_clock::now() < end) {
      }
    }
  });
  CHECK(support::eventually([&] { return runtime.stats().stopped_without_p != 0; }));
  told = true;
  CHECK(other.join());
  blocks.join();
}

TEST_CASE("beside goroutines that come back from calls a loop runs for as long as they did") {
  thrum::sched::scheduler_config config = support::lone_scheduler::quiet();
  config.time_slice_ns = 10'000'000;
  support::lone_scheduler scheduler(1, config);
  const thrum::sched::retaker retaker(*scheduler);
  auto& p = scheduler.p(0);
  const auto runs_for = [&](std::int64_t others_ran,
                            std::int64_t due_at = thrum::sched::retaker::never) {
    p.seen.asked_at = 1'000'000'000;
    p.seen.schedule_when = p.seen.asked_at + others_ran;
    const auto its = retaker.turn_of(p, p.seen.schedule_when, due_at, true);
    CHECK(its.ends_slice == (due_at == thrum::sched::retaker::never));
    return its.until - p.seen.schedule_when;
  };
  CHECK(runs_for(0) == thrum::sched::traits::least_run_ns);
  CHECK(runs_for(3'000'000) == 3'000'000);
  CHECK(runs_for(60'000'000) == thrum::sched::traits::monitor_max_sleep_ns);
  CHECK(runs_for(3'000'000, 1'002'000'000) == 0);  // a timer has been due for long enough
}
