// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Forks and parallel loops. One iteration of fib is a call, one of a loop is an iteration of it;
// those called `serial` are the same work without the library.

#include "measure.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace {

constexpr int fib_of = 27;
constexpr std::int64_t fib_calls = 635'621;
constexpr int fib_result = 196'418;

int fork_fib(int n) {
  if (n < 2) {
    return n;
  }
  const auto [a, b] =
      thrum::fork_join([n] { return fork_fib(n - 1); }, [n] { return fork_fib(n - 2); });
  return a + b;
}

[[gnu::noinline]] int serial_fib(int n) {
  return n < 2 ? n : serial_fib(n - 1) + serial_fib(n - 2);
}

void fib_fork_join(benchmark::State& state) {
  bench::measure(state, fib_calls, [&](std::int64_t) {
    if (fork_fib(fib_of) != fib_result) {
      state.SkipWithError("a fork was lost");
    }
  });
}

void fib_serial(benchmark::State& state) {
  bench::measure(state, fib_calls, [](std::int64_t) {
    int n = fib_of;
    benchmark::DoNotOptimize(n);
    benchmark::DoNotOptimize(serial_fib(n));
  });
}

/// Some nanoseconds of work for each step.
std::uint64_t scramble(std::size_t steps) {
  std::uint64_t x = steps | 1;
  for (std::size_t i = 0; i != steps; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

constexpr std::int64_t iterations = 10'000;

/// Iterations of the same length.
void parallel_for_even(benchmark::State& state) {
  bench::measure(state, iterations, [](std::int64_t n) {
    thrum::parallel_for(std::int64_t{0}, n,
                        [](std::int64_t) { benchmark::DoNotOptimize(scramble(1'000)); });
  });
}

/// Each a little longer than the one before.
void parallel_for_uneven(benchmark::State& state) {
  bench::measure(state, iterations, [](std::int64_t n) {
    thrum::parallel_for(std::int64_t{0}, n, [](std::int64_t i) {
      benchmark::DoNotOptimize(scramble(static_cast<std::size_t>(i) / 5));
    });
  });
}

/// Short loops, one after the other.
void parallel_for_short(benchmark::State& state) {
  constexpr int loop = 10;
  bench::measure(state, iterations, [](std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += loop) {
      thrum::parallel_for(0, loop, [](int) { benchmark::DoNotOptimize(scramble(20)); });
    }
  });
}

void parallel_reduce_sum(benchmark::State& state) {
  std::vector<int> values(10'000'000);
  std::iota(values.begin(), values.end(), 0);
  bench::measure(state, static_cast<std::int64_t>(values.size()), [&](std::int64_t) {
    benchmark::DoNotOptimize(thrum::parallel_reduce(values, std::int64_t{0}, std::plus<>(),
                                                    [](int each) { return std::int64_t{each}; }));
  });
}

}  // namespace

BENCHMARK(fib_serial)->ArgName("procs")->Arg(1)->MeasureProcessCPUTime()->UseManualTime();
BENCHMARK(fib_fork_join)
    ->ArgName("procs")
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseManualTime();
BENCHMARK(parallel_for_even)
    ->ArgName("procs")
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseManualTime();
BENCHMARK(parallel_for_uneven)
    ->ArgName("procs")
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseManualTime();
BENCHMARK(parallel_for_short)
    ->ArgName("procs")
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseManualTime();
BENCHMARK(parallel_reduce_sum)
    ->ArgName("procs")
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseManualTime();
