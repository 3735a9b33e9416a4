// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Channels. One iteration is one item, or one round trip.

#include "measure.hpp"

#include <cstddef>
#include <cstdint>

namespace {

/// As many producers as consumers share one channel.
void producers_and_consumers(benchmark::State& state) {
  const auto capacity = static_cast<std::size_t>(state.range(1));
  const std::int64_t pairs = state.range(2);
  bench::measure(state, 200'000, [=](std::int64_t n) {
    thrum::chan<std::int64_t> items(capacity);
    thrum::wait_group group;
    for (std::int64_t pair = 0; pair != pairs; ++pair) {
      group.go([=]() mutable {
        for (std::int64_t i = 0; i != n / pairs; ++i) {
          items.send(i);
        }
      });
      group.go([=]() mutable {
        std::int64_t item = 0;
        for (std::int64_t i = 0; i != n / pairs; ++i) {
          items.recv(item);
          benchmark::DoNotOptimize(item);
        }
      });
    }
    group.wait();
  });
}

void ping_pong(benchmark::State& state) {
  bench::measure(state, 100'000, [](std::int64_t n) {
    thrum::chan<std::int64_t> there(0);
    thrum::chan<std::int64_t> back(0);
    auto partner = thrum::spawn([=]() mutable {
      std::int64_t ball = 0;
      while (there.recv(ball) == thrum::recv_status::ok) {
        back.send(ball + 1);
      }
    });
    std::int64_t ball = 0;
    for (; n != 0; --n) {
      there.send(ball);
      back.recv(ball);
    }
    there.close();
    partner.join();
  });
}

}  // namespace

BENCHMARK(producers_and_consumers)
    ->ArgNames({"procs", "capacity", "pairs"})
    ->ArgsProduct({{1, 2}, {0, 128}, {1, 4}})
    ->MeasureProcessCPUTime()
    ->UseManualTime();
BENCHMARK(ping_pong)->ArgName("procs")->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseManualTime();
