// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/watch/retake.hpp>

#include "support/test.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <pthread.h>
#endif

#include "support/eventually.hpp"
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

/// Ms of one thread, which sleeps, and a P that each of them holds in turn, with a goroutine that waits.
class blocked_ms {
 public:
  using machine = thrum::sched::machine;

  explicit blocked_ms(unsigned n) : scheduler_(1, with_slices()), retaker_(*scheduler_) {
    for (unsigned i = 0; i != n; ++i) {
      machine& m = scheduler_.m();
      m.g = &scheduler_.g();
      m.inside = 0;
      ms_.push_back(&m);
    }
    thread_ = std::thread([this] {
      for (machine* const m : ms_) {
        m->self.open();
      }
      end_.sleep();
      for (machine* const m : ms_) {
        m->self.close();
      }
    });
    CHECK(support::eventually(
        [&] { return ms_.back()->self.look() == thrum::os::thread_look::in_system; }));
    {
      const thrum::sched::scoped guard(scheduler_->idle.lock());
      scheduler_->idle.remove_p_locked(p());
    }
    scheduler_->global.push_back(waits_);
  }
  ~blocked_ms() {
    end_.wake();
    thread_.join();
    static_cast<void>(scheduler_->global.pop());
  }
  blocked_ms(const blocked_ms&) = delete;
  blocked_ms& operator=(const blocked_ms&) = delete;

  /// The next M gets the P. Returns how long it keeps it, by a clock that moves as the retaker asks for.
  std::int64_t time_until_taken() {
    machine& m = *ms_[next_++];
    scheduler_.idle_m();  // for the P that is taken
    scheduler_->acquire_p(m, p());
    const std::int64_t since = now_;
    p().seen.schedule_when = since;
    while (m.retake != thrum::sched::retake_state::taken) {
      std::int64_t next_look = thrum::sched::retaker::never;
      const auto its = retaker_.turn_of(p(), now_, thrum::sched::retaker::never, false);
      static_cast<void>(retaker_.press(p(), now_, its, next_look));
      now_ = m.retake == thrum::sched::retake_state::taken ? now_ : next_look;
    }
    return now_ - since;
  }
  void return_from_call(unsigned i) { ms_[i]->retake = thrum::sched::retake_state::none; }

  /// Looks at the Ms without a P. Returns how many were asked for their CPU time.
  std::size_t asked_at(std::int64_t now) {
    std::int64_t next_look = thrum::sched::retaker::never;
    retaker_.watch(now, next_look);
    return static_cast<std::size_t>(std::count_if(
        ms_.begin(), ms_.end(), [&](const machine* m) { return m->watched_at == now; }));
  }

 private:
  static thrum::sched::scheduler_config with_slices() {
    thrum::sched::scheduler_config config = support::lone_scheduler::quiet();
    config.time_slice_ns = 10'000'000;
    return config;
  }
  thrum::sched::processor& p() { return scheduler_.p(0); }

  support::lone_scheduler scheduler_;
  thrum::sched::retaker retaker_;
  thrum::sched::goroutine waits_;
  thrum::os::note end_;
  std::vector<machine*> ms_;
  std::size_t next_ = 0;
  std::int64_t now_ = 1'000'000'000;
  std::thread thread_;
};

/// Whether the time of a look, and a look, tell that a thread sleeps.
bool sees_sleepers() {
  return thrum::sched::traits::has_fine_cpu_clock && support::system_sees_threads();
}

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

TEST_CASE(
    "while calls block in a row, each next one loses its processor sooner, and then at once") {
  if (!sees_sleepers()) {
    return;
  }
  blocked_ms calls(8);
  CHECK(calls.time_until_taken() == thrum::sched::traits::blocked_ns);
  CHECK(calls.time_until_taken() == thrum::sched::traits::blocked_ns / 4);
  CHECK(calls.time_until_taken() == thrum::sched::traits::blocked_ns / 16);
  CHECK(calls.time_until_taken() == 0);
  CHECK(calls.time_until_taken() == 0);
  calls.return_from_call(4);
  CHECK(calls.time_until_taken() == 0);  // the monitor learns of it now
  CHECK(calls.time_until_taken() == thrum::sched::traits::blocked_ns);
  CHECK(calls.time_until_taken() == thrum::sched::traits::blocked_ns / 4);
}

TEST_CASE(
    "threads without a processor are looked at in turns, not all of thousands in each round") {
  if (!sees_sleepers()) {
    return;
  }
  constexpr unsigned n = 80;
  blocked_ms calls(n);
  for (unsigned i = 0; i != n; ++i) {
    calls.time_until_taken();
  }
  std::int64_t now = thrum::sched::traits::now();
  std::size_t asked = 0;
  for (int round = 0; round != 5; ++round) {
    now += 10'000'000;
    const std::size_t some = calls.asked_at(now);
    CHECK(some == 32);
    asked += some;
  }
  CHECK(asked == 2 * n);  // each of them twice
  for (unsigned i = 0; i != n - 1; ++i) {
    calls.return_from_call(i);
  }
  for (int round = 0; round != 4; ++round) {
    now += 10'000'000;
    calls.asked_at(now);
  }
  CHECK(calls.asked_at(now + 10'000'000) == 1);
}
