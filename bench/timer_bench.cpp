// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleepers: goroutines that sleep 1 to 100 ms, again and again. One iteration is one wake-up; its
// time is that of the processor, in all threads of the process, because the rest is sleep. The counters
// late_p50_us and late_p99_us say how long after the end of its sleep a goroutine runs.
//
// Together: goroutines that all sleep one second. They begin as fast as they can start, and wake so.

#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <vector>

namespace {

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::chrono::milliseconds short_sleep(std::int64_t i, std::int64_t round) {
  return std::chrono::milliseconds(1 + (i * 7 + round * 31) % 100);
}

std::chrono::milliseconds one_second(std::int64_t, std::int64_t) {
  return std::chrono::milliseconds(1'000);
}

void sleepers(benchmark::State& state, std::int64_t rounds,
              std::chrono::milliseconds (*length)(std::int64_t i, std::int64_t round)) {
  const std::int64_t goroutines = state.range(1);
  std::vector<double> late(static_cast<std::size_t>(goroutines * rounds));
  thrum::options options = thrum::options::from_environment();
  options.procs = static_cast<unsigned>(state.range(0));
  thrum::run(options, [&] {
    while (state.KeepRunningBatch(goroutines * rounds)) {
      thrum::wait_group group;
      const double begin = processor_seconds();
      for (std::int64_t i = 0; i != goroutines; ++i) {
        group.go([=, first = &late[static_cast<std::size_t>(i * rounds)]] {
          for (std::int64_t round = 0; round != rounds; ++round) {
            const auto end = std::chrono::steady_clock::now() + length(i, round);
            thrum::sleep_for(length(i, round));
            first[round] =
                std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - end)
                    .count();
          }
        });
      }
      group.wait();
      state.SetIterationTime(processor_seconds() - begin);
    }
  });
  std::sort(late.begin(), late.end());
  state.counters["late_p50_us"] = late[late.size() / 2];
  state.counters["late_p99_us"] = late[late.size() * 99 / 100];
}

}  // namespace

BENCHMARK_CAPTURE(sleepers, apart, 5, short_sleep)
    ->ArgNames({"procs", "goroutines"})
    ->ArgsProduct({{1, 2}, {1'000, 100'000}})
    ->MeasureProcessCPUTime()
    ->UseManualTime();
BENCHMARK_CAPTURE(sleepers, together, 1, one_second)
    ->ArgNames({"procs", "goroutines"})
    ->ArgsProduct({{1, 2}, {100'000}})
    ->Iterations(100'000)
    ->MeasureProcessCPUTime()
    ->UseManualTime();
