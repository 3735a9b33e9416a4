// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// select: what one item costs that comes through it.

#include "measure.hpp"

#include <thrum.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace {

/// Two producers, each with a channel; one consumer that selects over both.
void select_of_two(benchmark::State& state) {
  const auto capacity = static_cast<std::size_t>(state.range(1));
  bench::measure(state, 200'000, [=](std::int64_t n) {
    const thrum::chan<std::int64_t> left(capacity);
    const thrum::chan<std::int64_t> right(capacity);
    thrum::wait_group group;
    for (const auto& items : {left, right}) {
      group.go([=] {
        for (std::int64_t i = 0; i != n / 2; ++i) {
          items.send(i);
        }
      });
    }
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i != n; ++i) {
      thrum::select(thrum::on_recv(left, [&](std::optional<std::int64_t> item) { sum += *item; }),
                    thrum::on_recv(right, [&](std::optional<std::int64_t> item) { sum += *item; }));
    }
    benchmark::DoNotOptimize(sum);
    group.wait();
  });
}

/// A look at two channels of which neither is ready.
void select_or_default(benchmark::State& state) {
  bench::measure(state, 1'000'000, [](std::int64_t n) {
    const thrum::chan<std::int64_t> left(0);
    const thrum::chan<std::int64_t> right(0);
    for (; n != 0; --n) {
      thrum::select(thrum::on_recv(left), thrum::on_recv(right), thrum::otherwise());
    }
  });
}

}  // namespace

BENCHMARK(select_of_two)
    ->ArgNames({"procs", "capacity"})
    ->ArgsProduct({{1, 2}, {0, 128}})
    ->MeasureProcessCPUTime()
    ->UseManualTime();
BENCHMARK(select_or_default)->ArgName("procs")->Arg(1)->MeasureProcessCPUTime()->UseManualTime();
