// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// starvation SLEEPER PROCS HOGS [SECONDS]   how late a goroutine that sleeps 1 ms wakes beside
// loops that
//                                           call nothing, and what the loops lose to it; SLEEPER 0:
//                                           the loops alone
// starvation blocking PROCS [SECONDS]       64 goroutines that block their threads for 1 ms at a
// time,
//                                           beside one that sleeps 1 ms at a time: calls a second
//
// bench/go/starvation is the same in Go.

#include <thrum.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <time.h>

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using microseconds = std::chrono::duration<double, std::micro>;

struct alignas(64) hog {
  volatile std::uint64_t rounds = 0;
};

/// How late each sleep of 1 ms ended, until the time is over.
std::vector<double> sleep_until_over(std::chrono::seconds time) {
  std::vector<double> late;
  const auto end = steady_clock::now() + time;
  for (auto begin = steady_clock::now(); begin < end; begin = steady_clock::now()) {
    thrum::sleep_for(1ms);
    late.push_back(microseconds(steady_clock::now() - begin - 1ms).count());
  }
  std::sort(late.begin(), late.end());
  return late;
}

void report(const std::vector<double>& late) {
  if (!late.empty()) {
    std::printf("late p50 %.0f us, p99 %.0f us, ", late[late.size() / 2],
                late[late.size() * 99 / 100]);
  }
}

int loops(bool sleeper, unsigned procs, int hogs, std::chrono::seconds time) {
  thrum::options options;
  options.procs = procs;
  return thrum::run(options, [=] {
    std::atomic<bool> stop{false};
    std::vector<hog> all(static_cast<std::size_t>(hogs));
    thrum::wait_group group;
    for (hog& own : all) {
      group.go([&] {
        while (!stop.load(std::memory_order_relaxed)) {
          own.rounds = own.rounds + 1;
        }
      });
    }
    const auto begin = steady_clock::now();
    if (sleeper) {
      report(sleep_until_over(time));
    } else {
      thrum::sleep_for(time);
    }
    stop = true;
    group.wait();
    std::uint64_t rounds = 0;
    for (const hog& own : all) {
      rounds += own.rounds;
    }
    std::printf("%.1f rounds/us\n",
                static_cast<double>(rounds) / microseconds(steady_clock::now() - begin).count());
  });
}

int blocking_calls(unsigned procs, std::chrono::seconds time) {
  thrum::options options;
  options.procs = procs;
  return thrum::run(options, [=] {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> calls{0};
    thrum::wait_group group;
    for (int i = 0; i != 64; ++i) {
      group.go([&] {
        while (!stop.load(std::memory_order_relaxed)) {
          thrum::blocking([] {
            const timespec ms{0, 1'000'000};
            return ::nanosleep(&ms, nullptr);
          });
          calls.fetch_add(1, std::memory_order_relaxed);
        }
      });
    }
    const auto begin = steady_clock::now();
    report(sleep_until_over(time));
    stop = true;
    const double seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
    std::printf("%.0f calls/s\n", static_cast<double>(calls.load()) / seconds);
    group.wait();
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) {
    return i < argc ? std::atoi(argv[i]) : otherwise;
  };
  if (argc > 1 && std::string_view(argv[1]) == "blocking") {
    return blocking_calls(static_cast<unsigned>(number(2, 2)), std::chrono::seconds(number(3, 3)));
  }
  return loops(number(1, 1) != 0, static_cast<unsigned>(number(2, 1)), number(3, 1),
               std::chrono::seconds(number(4, 3)));
}
