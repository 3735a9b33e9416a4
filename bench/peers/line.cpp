// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a line of memory costs that goes from one core to another: two threads answer each other through one
// word, the first on the first CPU, the second on the last, where the system lets a thread choose its CPU.
// Prints ns one way. tools/peers.py tells it with the machine: most rows on two processors follow from it.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace {

constexpr int crossings = 2'000'000;
std::atomic<int> ball{0};

void stay_on([[maybe_unused]] unsigned cpu) {
#ifdef __linux__
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  sched_setaffinity(0, sizeof only, &only);
#endif
}

/// Each number that is even is one thread's, the others are the other's.
void answer(int first) {
  for (int turn = first; turn < crossings; turn += 2) {
    // [line =] acquire and release: the other thread's store is what we wait for
    while (ball.load(std::memory_order_acquire) != turn) {
    }
    ball.store(turn + 1, std::memory_order_release);
  }
}

}  // namespace

int main() {
  const unsigned cpus = std::thread::hardware_concurrency();
  std::thread other([&] {
    stay_on(cpus > 1 ? cpus - 1 : 0);
    answer(1);
  });
  stay_on(0);
  const auto begin = std::chrono::steady_clock::now();
  answer(0);
  other.join();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f\n", took.count() / crossings);
  return 0;
}
