// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the machine that this runs on takes for the steps that cost something on the simulated one.
#ifndef THRUM_TESTS_SIMULATION_MEASURE_HPP
#define THRUM_TESTS_SIMULATION_MEASURE_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/os/os.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace simulation {

inline double now_ns() { return static_cast<double>(thrum::os::now()); }

/// The least of some rounds of n calls, for each.
template <class F>
double least_of(int n, F f) {
  double least = 1e18;
  for (int round = 0; round != 7; ++round) {
    const double begins = now_ns();
    for (int i = 0; i != n; ++i) {
      f();
    }
    least = std::min(least, (now_ns() - begins) / n);
  }
  return least;
}

/// Half of what a word takes to go to another thread and back: the least of some rounds, as others may
/// want the CPUs.
inline double measure_transfer() {
  constexpr std::uint32_t a_round = 1'000;
  constexpr std::uint32_t turns = 200 * a_round;
  std::atomic<std::uint32_t> word{0};
  std::thread other([&] {
    for (std::uint32_t i = 0; i != turns; ++i) {
      while (word.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      word.store(2 * i + 2, std::memory_order_release);
    }
  });
  double least = 1e18;
  double begins = now_ns();
  for (std::uint32_t i = 0; i != turns; ++i) {
    word.store(2 * i + 1, std::memory_order_release);
    while (word.load(std::memory_order_acquire) != 2 * i + 2) {
    }
    if (i % a_round == a_round - 1) {
      const double ends = now_ns();
      least = std::min(least, (ends - begins) / (2 * a_round));
      begins = ends;
    }
  }
  other.join();
  return least;
}

/// The medians of what a call takes that wakes a thread, and of what passes until that runs.
inline void measure_wake(double& call, double& latency) {
  constexpr int turns = 500;
  std::vector<double> calls(turns);
  std::vector<double> latencies(turns);
  thrum::os::note bell;
  std::atomic<double> woken{0};
  std::atomic<bool> sleeps{false};
  std::thread sleeper([&] {
    for (int i = 0; i != turns; ++i) {
      sleeps.store(true, std::memory_order_release);
      bell.sleep();
      bell.clear();
      woken.store(now_ns(), std::memory_order_release);
    }
  });
  for (int i = 0; i != turns; ++i) {
    while (!sleeps.exchange(false, std::memory_order_acquire)) {
      thrum::os::yield_thread();
    }
    thrum::os::sleep_ns(200'000);
    woken.store(0, std::memory_order_relaxed);
    const double begins = now_ns();
    bell.wake();
    calls[i] = now_ns() - begins;
    while (woken.load(std::memory_order_acquire) == 0) {
    }
    latencies[i] = woken.load(std::memory_order_relaxed) - begins;
  }
  sleeper.join();
  const auto median = [](std::vector<double>& all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  };
  call = median(calls);
  latency = median(latencies);
}

/// Calls tell(name, ns) for each.
template <class F>
void measure(F tell) {
  std::atomic<std::uint32_t> word{0};
  const double add = least_of(1'000'000, [&] { word.fetch_add(1); });
  const double load = least_of(1'000'000, [&] { word.load(); });
  tell("hit", load);
  tell("locked", add - load);
  tell("transfer", measure_transfer());
  tell("pause", least_of(100'000, [] { thrum::arch::spin_hint(); }));
  tell("yield", least_of(20'000, [] { thrum::os::yield_thread(); }));
  double call = 0;
  double latency = 0;
  measure_wake(call, latency);
  tell("wake", call);
  tell("wake_latency", latency);
  tell("wake_nobody", least_of(10'000, [] {
         thrum::os::note bell;
         bell.wake();
       }));
  tell("thread_start", least_of(200, [] { std::thread([] {}).join(); }));
  tell("nap", least_of(200, [] { thrum::os::sleep_ns(3'000); }) - 3'000);
}

}  // namespace simulation

#endif
