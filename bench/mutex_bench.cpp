// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The mutex. One iteration is one lock with its unlock.

#include "measure.hpp"

#include <cstdint>
#include <mutex>

namespace {

void contenders(benchmark::State& state) {
  const std::int64_t goroutines = state.range(1);
  bench::measure(state, 200'000, [=](std::int64_t n) {
    thrum::mutex mutex;
    std::int64_t guarded = 0;
    thrum::wait_group group;
    for (std::int64_t i = 0; i != goroutines; ++i) {
      group.go([&] {
        for (std::int64_t left = n / goroutines; left != 0; --left) {
          const std::lock_guard lock(mutex);
          benchmark::DoNotOptimize(++guarded);
        }
      });
    }
    group.wait();
  });
}

void uncontended(benchmark::State& state) {
  bench::measure(state, 1'000'000, [](std::int64_t n) {
    thrum::mutex mutex;
    for (; n != 0; --n) {
      mutex.lock();
      mutex.unlock();
    }
  });
}

}  // namespace

BENCHMARK(uncontended)->ArgName("procs")->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseManualTime();
BENCHMARK(contenders)
    ->ArgNames({"procs", "goroutines"})
    ->ArgsProduct({{1, 2}, {100}})
    ->MeasureProcessCPUTime()
    ->UseManualTime();
