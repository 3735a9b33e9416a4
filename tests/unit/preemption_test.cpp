// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Processors taken from code that does not ask to be interrupted: from loops, by a signal. Go's
// AsyncPreempt and Preemption are here; calls that block are in blocking_calls_test.cpp.

#include "support/sees_threads.hpp"
#include "support/test.hpp"

#include <csignal>
#include <exception>

#if !defined(_WIN32)
#include "support/put_back_action.hpp"

#include <pthread.h>
#endif

namespace {

using thrum::preemption;

thrum::options settings(unsigned procs, preemption preempt = preemption::async) {
  thrum::options options;
  options.procs = procs;
  options.preempt = preempt;
  return options;
}

constexpr bool can_interrupt = thrum::os::has_preempt_signal;

/// Computes until told to stop, without a call.
[[gnu::noinline]] void compute(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
  }
}

[[gnu::noinline]] void compute(const std::atomic<bool>& stop, std::atomic<std::uint64_t>& rounds) {
  while (!stop.load(std::memory_order_relaxed)) {
    rounds.store(rounds.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

}  // namespace

TEST_CASE("AsyncPreempt: loops without any call do not keep others from running on one processor") {
  if (!can_interrupt) {
    return;
  }
  thrum::run(settings(1), [] {
    std::atomic<bool> stop{false};
    std::atomic<int> started{0};
    thrum::wait_group group;
    for (int i = 0; i != 3; ++i) {
      group.go([&] {
        ++started;
        compute(stop);
      });
    }
    while (started != 3) {
      thrum::this_goroutine::yield();
    }
    CHECK_FALSE(stop);
    CHECK(thrum::stats().goroutines == 4);  // the loops have not ended by themselves
    stop = true;
    group.wait();
  });
}

namespace {

/// With some compilers a call, which takes a lock of the thread.
thread_local volatile int of_the_thread = 0;

[[gnu::noinline]] void change_what_is_of_the_thread() { of_the_thread = of_the_thread + 1; }

}  // namespace

TEST_CASE("code is interrupted while it uses what is of its thread, and all go on") {
  if (!can_interrupt) {
    return;
  }
  thrum::run(settings(1), [] {
    constexpr int loops = 3;
    std::atomic<bool> stop{false};
    std::array<std::atomic<std::uint64_t>, loops> rounds{};
    thrum::wait_group group;
    for (auto& own : rounds) {
      group.go([&] {
        while (!stop.load(std::memory_order_relaxed)) {
          change_what_is_of_the_thread();
          own.fetch_add(1, std::memory_order_relaxed);
        }
      });
    }
    for (int i = 0; i != 50; ++i) {
      thrum::sleep_for(1ms);
    }
    for (auto& own : rounds) {
      const std::uint64_t before = own;
      CHECK(support::eventually([&] { return own != before; }));
    }
    CHECK(support::eventually([] { return thrum::stats().preemptions != 0; }));
    stop = true;
    group.wait();
  });
}

TEST_CASE("a goroutine that sleeps wakes beside a loop that never gives up the processor") {
  if (!can_interrupt) {
    return;
  }
  thrum::stats_snapshot s;
  thrum::run(settings(1), [&] {
    std::atomic<bool> stop{false};
    thrum::wait_group group;
    group.go([&] { compute(stop); });
    for (int i = 0; i != 20; ++i) {
      thrum::sleep_for(1ms);
    }
    support::eventually([&] {  // sleeps, too
      s = thrum::stats();
      return s.signals != 0 && s.preemptions != 0;
    });
    stop = true;
    group.wait();
  });
  CHECK(s.signals != 0);
  CHECK(s.preemptions != 0);
}

namespace {

/// Two loops and a goroutine that sleeps 1 ms at a time, on one processor, until `enough`. Returns
/// how often the processor went from one loop to the other, and how often the sleeper woke; and how
/// often a loop lost the processor because its thread seemed to block: both loops run then for a while.
struct turns {
  int changes = 0;
  int wakes = 0;
  std::uint64_t retakes = 0;
};
template <class Enough>
turns take_turns(std::chrono::milliseconds slice, Enough enough) {
  thrum::options options = settings(1);
  options.time_slice = slice;
  turns result;
  thrum::run(options, [&] {
    std::atomic<bool> stop{false};
    std::atomic<int> last{0};
    std::atomic<int> changes{0};
    thrum::wait_group group;
    for (int i = 1; i != 3; ++i) {
      group.go([&, i] {
        while (!stop.load(std::memory_order_relaxed)) {
          if (last.load(std::memory_order_relaxed) != i) {
            last.store(i, std::memory_order_relaxed);
            changes.fetch_add(1, std::memory_order_relaxed);
          }
        }
      });
    }
    while (!enough(result)) {
      thrum::sleep_for(1ms);
      ++result.wakes;
      result.changes = changes;
    }
    stop = true;
    group.wait();
    result.retakes = thrum::stats().retakes;
  });
  return result;
}

}  // namespace

TEST_CASE("a loop that was stopped for a timer goes on before other loops") {
  if (!can_interrupt || !support::system_sees_threads()) {
    return;
  }
  // On a busy machine a thread may wait in the kernel for a page, and lose its processor for that.
  CHECK(support::eventually([] {
    const turns result = take_turns(10s, [](const turns& so_far) { return so_far.wakes == 60; });
    return result.retakes == 0 && result.changes < 20;  // else each wake is a change
  }));
}

TEST_CASE(
    "a goroutine that comes back from a blocking call does not wait for the end of a loop's "
    "slice") {
  if (!can_interrupt) {
    return;
  }
  thrum::options options = settings(1);
  options.time_slice = 1h;
  thrum::run(options, [] {
    std::atomic<bool> stop{false};
    auto loop = thrum::spawn([&] {
      while (!stop.load(std::memory_order_relaxed)) {
      }
    });
    for (int i = 0; i != 20; ++i) {
      thrum::blocking([] { std::this_thread::sleep_for(1ms); });
    }
    stop = true;
    loop.join();
    CHECK(thrum::stats().hand_offs != 0);
  });
}

TEST_CASE("loops that are stopped for timers all the time still take turns") {
  if (!can_interrupt) {
    return;
  }
  const turns result =
      take_turns(10ms, [](const turns& so_far) { return so_far.wakes > 30 && so_far.changes > 5; });
  CHECK(result.changes > 5);  // or it would never come to an end
}

TEST_CASE("Preemption: two that wait for each other by spinning on one word make progress") {
  if (!can_interrupt) {
    return;
  }
  thrum::options options = settings(1);
  options.time_slice = 200us;
  thrum::run(options, [] {
    std::atomic<int> turn{0};
    in_goroutines(2, [&](int self) {
      for (int i = 0; i != 10; ++i) {
        while (turn.load(std::memory_order_relaxed) % 2 != self) {
        }
        turn.fetch_add(1, std::memory_order_relaxed);
      }
    });
    CHECK(turn == 20);
  });
}

TEST_CASE("a goroutine that was interrupted goes on with its errno, exceptions and registers") {
  if (!can_interrupt) {
    return;
  }
  thrum::options options = settings(1);
  options.time_slice = 100us;
  std::atomic<int> wrong{0};
  thrum::run(options, [&] {
    thrum::wait_group group;
    for (int self = 1; self != 5; ++self) {
      group.go([&wrong, self] {
        const auto end = std::chrono::steady_clock::now() + 50ms;
        double sum = self;
        while (std::chrono::steady_clock::now() < end) {
          errno = self;
          try {
            throw std::runtime_error(std::to_string(self));
          } catch (const std::runtime_error& error) {
            for (int i = 0; i != 2000; ++i) {
              sum = sum * 1.5 / 1.5;
            }
            wrong += error.what() != std::to_string(self);
            wrong += std::current_exception() == nullptr || std::uncaught_exceptions() != 0;
          }
          wrong += errno != self;
        }
        wrong += sum != self;
      });
    }
    group.wait();
  });
  CHECK(wrong == 0);
}

TEST_CASE("sixty-four loops on two processors all make progress") {
  if (!can_interrupt) {
    return;
  }
  thrum::options options = settings(2);
  options.time_slice = 1ms;
  std::array<std::atomic<std::uint64_t>, 64> rounds{};
  thrum::run(options, [&] {
    std::atomic<bool> stop{false};
    thrum::wait_group group;
    for (auto& own : rounds) {
      group.go([&] { compute(stop, own); });
    }
    const auto all_moved = [&] {
      for (auto& own : rounds) {
        if (own == 0) {
          return false;
        }
      }
      return true;
    };
    CHECK(support::eventually(all_moved));
    stop = true;
    group.wait();
  });
}

TEST_CASE("at the limit of threads loops still take turns") {
  if (!can_interrupt) {
    return;
  }
  thrum::options options = settings(1);
  options.max_threads = 3;
  options.time_slice = 500us;
  thrum::run(options, [] {
    std::array<std::atomic<std::uint64_t>, 2> rounds{};
    std::atomic<bool> stop{false};
    thrum::wait_group group;
    for (auto& own : rounds) {
      group.go([&] { compute(stop, own); });
    }
    for (int i = 0; i != 20; ++i) {
      thrum::sleep_for(1ms);
    }
    while (rounds[0] == 0 || rounds[1] == 0) {
      thrum::sleep_for(1ms);
    }
    stop = true;
    group.wait();
    CHECK(thrum::stats().threads <= 3);
  });
}

TEST_CASE("no signal is sent while nothing else could run") {
  thrum::options options = settings(1);
  options.time_slice = 1ms;
  thrum::run(options, [] {
    const auto before = thrum::stats().signals;
    const auto end = std::chrono::steady_clock::now() + 50ms;
    while (std::chrono::steady_clock::now() < end) {
    }
    CHECK(thrum::stats().signals == before);
  });
}

TEST_CASE("cooperative preemption sends no signals and waits for a call of the library") {
  if (!support::system_sees_threads()) {
    return;
  }
  thrum::options options = settings(1, preemption::cooperative);
  options.time_slice = 1ms;
  thrum::run(options, [] {
    std::atomic<bool> done{false};
    thrum::wait_group group;
    group.go([&] { done = true; });
    // Long enough for many slices; no other goroutine can have run before the first call. A clock may
    // be a call of the system, in which a thread looks blocked: so it is asked rarely.
    const auto end = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < end) {
      for (int i = 0; i != 100'000; ++i) {
        asm volatile("");
      }
    }
    // If the system kept our thread waiting, for a page, its processor was taken as from any call that blocks.
    CHECK((!done || thrum::stats().retakes != 0));
    while (!done) {
      thrum::this_goroutine::preemption_point();
    }
    group.wait();
    CHECK(thrum::stats().signals == 0);
  });
}

TEST_CASE("without preemption a goroutine runs until it waits") {
  thrum::options options = settings(1, preemption::none);
  options.time_slice = 1ms;
  thrum::run(options, [] {
    std::atomic<bool> done{false};
    thrum::wait_group group;
    group.go([&] { done = true; });
    const auto end = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < end) {
      thrum::this_goroutine::preemption_point();
    }
    CHECK_FALSE(done);
    group.wait();
    CHECK(done);
  });
}

#if !defined(_WIN32)  // there are no signals, and its poller knows sockets only

namespace {

std::atomic<int> urgent_signals{0};

void count_urgent(int) { ++urgent_signals; }

/// Puts the handler of SIGURG back.
struct kept_action {
  kept_action() { ::sigaction(SIGURG, nullptr, &action); }
  ~kept_action() { ::sigaction(SIGURG, &action, nullptr); }
  kept_action(const kept_action&) = delete;
  kept_action& operator=(const kept_action&) = delete;
  struct sigaction action {};
};

/// Raises SIGURG until the program's own handler has heard of it. The system keeps one for a thread: what is
/// raised while ours is on its way goes with it.
void raise_until_heard() {
  const int before = urgent_signals;
  CHECK(support::eventually([&] {
    std::raise(SIGURG);
    return urgent_signals != before;
  }));
}

/// Sleeps beside a loop until signals have been sent for it.
void preempt_a_loop() {
  std::atomic<bool> stop{false};
  thrum::wait_group group;
  group.go([&] { compute(stop); });
  const auto before = thrum::stats().signals;
  while (thrum::stats().signals < before + 5) {
    thrum::sleep_for(1ms);
  }
  stop = true;
  group.wait();
}

}  // namespace

TEST_CASE(
    "a handler of SIGURG, from before or installed later, gets the signals that are not ours") {
  if (!can_interrupt) {
    return;
  }
  for (const bool was_there : {true, false}) {
    const kept_action kept;
    urgent_signals = 0;
    if (was_there) {
      std::signal(SIGURG, &count_urgent);
    }
    thrum::run(settings(1), [was_there] {
      if (!was_there) {
        std::signal(SIGURG, &count_urgent);
      }
      preempt_a_loop();
      CHECK((urgent_signals == 0 || !was_there));
      const int before = urgent_signals;
      raise_until_heard();
      CHECK(urgent_signals == before + 1);
    });
  }
}

TEST_CASE("SpuriousWakeupsNeverHang: a sleep ends in spite of signals all the time") {
  const auto begin = std::chrono::steady_clock::now();
  struct sigaction before {};
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &nothing, &before);
  thrum::run(settings(1), [] {
    const ::pthread_t self = ::pthread_self();
    std::atomic<bool> stop{false};
    std::thread disturber([&] {
      while (!stop) {
        ::pthread_kill(self, SIGUSR1);
        std::this_thread::sleep_for(100us);
      }
    });
    thrum::sleep_for(300ms);
    stop = true;
    thrum::blocking([&] { disturber.join(); });
  });
  support::put_back_action(SIGUSR1, before);
  CHECK(std::chrono::steady_clock::now() - begin >= 300ms);
}

#endif

TEST_CASE("a processor that is given up is taken from goroutines that compute") {
  if (!can_interrupt) {
    return;
  }
  for (const int loops : {2, 4}) {
    std::atomic<bool> stop{false};
    thrum::runtime runtime(settings(2));
    for (int i = 0; i != loops; ++i) {
      runtime.go([&] { compute(stop); });
    }
    std::this_thread::sleep_for(20ms);
    runtime.procs(1);
    CHECK(support::eventually(
        [&] { return runtime.scheduler().ps[1].status.load() == thrum::sched::p_status::dead; }));
    stop = true;
  }
}
