// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What all benchmarks share: work is timed inside a goroutine, so starting the runtime does not
// count. The first argument of each benchmark is the number of processors.
#ifndef THRUM_BENCH_MEASURE_HPP
#define THRUM_BENCH_MEASURE_HPP

#include <thrum.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

namespace bench {

/// Runs `work(batch)` on the first goroutine of a runtime as often as the benchmark wants. One
/// iteration of the report is one of the `batch` operations that a call does.
template <class Work>
void measure(benchmark::State& state, std::int64_t batch, Work work) {
  thrum::options options = thrum::options::from_environment();
  options.procs = static_cast<unsigned>(state.range(0));
  thrum::run(options, [&] {
    while (state.KeepRunningBatch(batch)) {
      const auto begin = std::chrono::steady_clock::now();
      work(batch);
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      state.SetIterationTime(time.count());
    }
  });
}

}  // namespace bench

#endif
