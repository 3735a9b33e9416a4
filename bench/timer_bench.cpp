// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleepers: goroutines that sleep 1 to 100 ms, again and again. One iteration is one wake-up; its
// time is that of the processor, in all threads of the process, because the rest is sleep.

#include "measure.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>

namespace {

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void sleepers(benchmark::State& state) {
  const std::int64_t goroutines = state.range(1);
  constexpr std::int64_t rounds = 5;
  thrum::options options = thrum::options::from_environment();
  options.procs = static_cast<unsigned>(state.range(0));
  thrum::run(options, [&] {
    while (state.KeepRunningBatch(goroutines * rounds)) {
      thrum::wait_group group;
      const double begin = processor_seconds();
      for (std::int64_t i = 0; i != goroutines; ++i) {
        group.go([=] {
          for (std::int64_t round = 0; round != rounds; ++round) {
            thrum::sleep_for(std::chrono::milliseconds(1 + (i * 7 + round * 31) % 100));
          }
        });
      }
      group.wait();
      state.SetIterationTime(processor_seconds() - begin);
    }
  });
}

}  // namespace

BENCHMARK(sleepers)
    ->ArgNames({"procs", "goroutines"})
    ->ArgsProduct({{1, 2}, {1'000, 100'000}})
    ->MeasureProcessCPUTime()
    ->UseManualTime();
