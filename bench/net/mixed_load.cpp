// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// mixed_load --port N [--connections N] [--seconds S] [--warmup S]
//
// A client of thrum_mixed and its like: one connection lets its goroutine compute for 8 ms in each 10;
// N others each ask something that takes no time, wait for the answer and then for a millisecond or a
// little more. Prints what echo_load does, of these others.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

#include "load_client.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::microseconds;

std::atomic<bool> measuring{false};
std::atomic<bool> ended{false};
std::latch told{1};  // what is known of ended threads is less than run.py wants

/// Sends the byte and waits for it.
void ask(int fd, char message) {
  char answer = 0;
  if (::write(fd, &message, 1) != 1 || ::read(fd, &answer, 1) != 1 || answer != message) {
    bench::fail("the server ended a connection, or answered something else");
  }
}

void let_compute(std::uint16_t port, std::latch& done) {
  constexpr char for_ms = 8;
  const int fd = bench::connect_to(port);
  while (!ended) {
    ask(fd, for_ms);
    std::this_thread::sleep_for(microseconds(2'000));
  }
  done.count_down();
  told.wait();
  ::close(fd);
}

void ask_often(std::uint16_t port, std::vector<std::uint64_t>& latencies, std::latch& done) {
  std::minstd_rand random(std::random_device{}());
  const int fd = bench::connect_to(port);
  while (!ended) {
    std::this_thread::sleep_for(microseconds(1'000 + random() % 500));
    const auto since = clock_type::now();
    ask(fd, 0);
    if (measuring) {
      latencies.push_back(static_cast<std::uint64_t>((clock_type::now() - since).count()));
    }
  }
  done.count_down();
  told.wait();
  ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint16_t port = 0;
  std::size_t connections = 1;
  double seconds = 5;
  double warmup = 1;
  bool understood = argc % 2 == 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const double value = std::strtod(argv[i + 1], nullptr);
    if (name == "--port") {
      port = static_cast<std::uint16_t>(value);
    } else if (name == "--connections") {
      connections = static_cast<std::size_t>(value);
    } else if (name == "--seconds") {
      seconds = value;
    } else if (name == "--warmup") {
      warmup = value;
    } else {
      understood = false;
    }
  }
  if (!understood || port == 0 || connections == 0) {
    std::fputs("usage: mixed_load --port N [--connections N] [--seconds S] [--warmup S]\n", stderr);
    return 2;
  }
  std::vector<std::vector<std::uint64_t>> latencies(connections);
  std::latch done(static_cast<std::ptrdiff_t>(connections) + 1);
  std::vector<std::thread> threads;
  threads.emplace_back(let_compute, port, std::ref(done));
  for (auto& own : latencies) {
    threads.emplace_back([port, &own, &done] { ask_often(port, own, done); });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(warmup));
  std::puts("measuring");
  std::fflush(stdout);
  measuring = true;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  measuring = false;
  ended = true;
  done.wait();
  bench::histogram all;
  std::uint64_t requests = 0;
  for (const auto& own : latencies) {
    for (const std::uint64_t each : own) {
      all.add(each);
      ++requests;
    }
  }
  std::printf("requests %llu seconds %.3f rate %.0f p50_us %.1f p99_us %.1f p999_us %.1f\n",
              static_cast<unsigned long long>(requests), seconds,
              static_cast<double>(requests) / seconds, all.quantile(0.5), all.quantile(0.99),
              all.quantile(0.999));
  std::fflush(stdout);
  // The reader of that line may look at the server before it ends.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  told.count_down();
  for (std::thread& each : threads) {
    each.join();
  }
  return 0;
}
