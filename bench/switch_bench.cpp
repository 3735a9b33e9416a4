// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Switching: yield among a number of goroutines. One iteration is one switch.

#include "measure.hpp"

#include <cstdint>

namespace {

void yield_among(benchmark::State& state) {
  const std::int64_t goroutines = state.range(1);
  const std::int64_t rounds = 200'000 / goroutines;
  bench::measure(state, goroutines * rounds, [=](std::int64_t) {
    thrum::wait_group group;
    for (std::int64_t i = 0; i != goroutines; ++i) {
      group.go([=] {
        for (std::int64_t round = 0; round != rounds; ++round) {
          thrum::this_goroutine::yield();
        }
      });
    }
    group.wait();
  });
}

/// What a loop pays that asks whether it should yield. One iteration is one question.
void preemption_point(benchmark::State& state) {
  bench::measure(state, 1'000'000, [](std::int64_t n) {
    for (; n != 0; --n) {
      thrum::this_goroutine::preemption_point();
    }
  });
}

}  // namespace

BENCHMARK(yield_among)
    ->ArgNames({"procs", "goroutines"})
    ->ArgsProduct({{1, 2}, {2, 1'000}})
    ->MeasureProcessCPUTime()
    ->UseManualTime();
BENCHMARK(preemption_point)->ArgName("procs")->Arg(1)->MeasureProcessCPUTime()->UseManualTime();
