// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A program with debug/trace_pc.hpp in it: each edge of its control flow is a preemption point, the
// library's own included. No signals; loops that know nothing of the library share one processor.

#include "programs/programs.hpp"

#include <thrum.hpp>
#include <thrum/debug/trace_pc.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;

constexpr unsigned patience_s = 120;  // a loop that nobody interrupts ends by SIGALRM

thrum::options one_processor() {
  ::alarm(patience_s);
  thrum::options options = thrum::options::from_environment();
  options.procs = 1;
  options.preempt = thrum::preemption::cooperative;
  return options;
}

int loop_without_calls() {
  return thrum::run(one_processor(), [] {
    std::atomic<bool> done{false};
    thrum::go([&] { done = true; });
    while (!done.load(std::memory_order_relaxed)) {
    }
    std::puts("the other ran");
    return 0;
  });
}

/// The library is instrumented as well: it must not be left by its own edges.
int library_under_load() {
  thrum::options options = one_processor();
  options.procs = 4;
  options.time_slice = 50us;
  return thrum::run(options, [] {
    constexpr int count = 8;
    constexpr int rounds = 2'000;
    thrum::chan<int> numbers(3);
    thrum::mutex mutex;
    std::int64_t both = 0;
    thrum::wait_group group;
    for (int i = 0; i != count; ++i) {
      group.go([&] {
        for (int n = 1; n <= rounds; ++n) {
          numbers.send(n);
          mutex.lock();
          ++both;
          mutex.unlock();
        }
      });
    }
    std::int64_t sum = 0;
    for (int i = 0; i != count * rounds; ++i) {
      sum += *numbers.recv();
    }
    group.wait();
    const std::int64_t expected = std::int64_t{count} * rounds * (rounds + 1) / 2;
    std::printf("%s\n", sum == expected && both == count * rounds ? "all there" : "some lost");
    return 0;
  });
}

/// An edge may lie between two uses of what belongs to a thread.
int thread_kept() {
  thrum::options options = one_processor();
  options.procs = 2;
  options.time_slice = 50us;
  return thrum::run(options, [] {
    std::atomic<bool> stop{false};
    std::atomic<int> moved{0};
    thrum::wait_group group;
    for (int i = 0; i != 6; ++i) {
      group.go([&] {
        const auto own = std::this_thread::get_id();
        for (int n = 0; !stop.load(std::memory_order_relaxed); n = (n + 1) % 1'000) {
          errno = n;
          moved += own != std::this_thread::get_id() || errno != n;
        }
      });
    }
    while (thrum::stats().preemptions < 20) {
      thrum::sleep_for(1ms);
    }
    stop = true;
    group.wait();
    std::printf("moved %d\n", moved.load());
    return 0;
  });
}

int foreign_thread() {
  return thrum::run(one_processor(), [] {
    thrum::chan<int> result(1);
    std::thread worker([&] {
      int n = 0;
      while (n != 1'000'000) {
        ++n;
        asm volatile("" : "+r"(n));
      }
      result.send(n);
    });
    const int n = *result.recv();
    worker.join();
    std::printf("counted to %d\n", n);
    return 0;
  });
}

const programs::entry entries[] = {
    {"loop_without_calls", loop_without_calls},
    {"library_under_load", library_under_load},
    {"thread_kept", thread_kept},
    {"foreign_thread", foreign_thread},
};
const programs::group registered(entries);

}  // namespace
