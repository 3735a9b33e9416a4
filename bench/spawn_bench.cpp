// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Starting goroutines and waiting for their end. One iteration is one goroutine.

#include "measure.hpp"

#include <cstdint>

namespace {

void spawn_and_join(benchmark::State& state) {
  bench::measure(state, 100'000, [](std::int64_t n) {
    for (; n != 0; --n) {
      thrum::spawn([] {}).join();
    }
  });
}

void go_one_at_a_time(benchmark::State& state) {
  bench::measure(state, 100'000, [](std::int64_t n) {
    for (; n != 0; --n) {
      thrum::wait_group group;
      group.go([] {});
      group.wait();
    }
  });
}

void go_1000_at_a_time(benchmark::State& state) {
  bench::measure(state, 100'000, [](std::int64_t n) {
    for (; n != 0; n -= 1'000) {
      thrum::wait_group group;
      for (int i = 0; i != 1'000; ++i) {
        group.go([] {});
      }
      group.wait();
    }
  });
}

/// A binary tree of goroutines, each waiting for its two children.
std::int64_t tree(int depth) {
  if (depth == 0) {
    return 1;
  }
  auto left = thrum::spawn(tree, depth - 1);
  auto right = thrum::spawn(tree, depth - 1);
  return left.join() + right.join() + 1;
}

void recursive_tree(benchmark::State& state) {
  constexpr int depth = 16;
  bench::measure(state, (1 << (depth + 1)) - 1, [&](std::int64_t nodes) {
    if (tree(depth) != nodes) {
      state.SkipWithError("the tree lost nodes");
    }
  });
}

}  // namespace

BENCHMARK(spawn_and_join)
    ->ArgName("procs")
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseManualTime();
BENCHMARK(go_one_at_a_time)
    ->ArgName("procs")
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseManualTime();
BENCHMARK(go_1000_at_a_time)
    ->ArgName("procs")
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseManualTime();
BENCHMARK(recursive_tree)
    ->ArgName("procs")
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseManualTime();
