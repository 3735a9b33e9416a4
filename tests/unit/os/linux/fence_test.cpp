// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The asymmetric fences.
#include <thrum/os/linux/fence.hpp>

#include <atomic>
#include <cstdint>
#include <thread>

#include <thrum/os/linux/note.hpp>

#include "../../../support/catch.hpp"

using namespace thrum;

namespace {

// Store on one side, fence, load of the other's word; both sides must not read zero.
template <class LightFence>
int both_missed(int rounds, LightFence light) {
  constexpr auto relaxed = std::memory_order_relaxed;
  std::atomic<int> x{0}, y{0};
  std::atomic<int> round{0}, finished{0};
  int seen_by_other = 0;
  int missed = 0;
  std::thread frequent([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (round.load(std::memory_order_acquire) != i) {
        std::this_thread::yield();
      }
      x.store(1, relaxed);
      light();
      seen_by_other = y.load(relaxed);
      finished.store(i, std::memory_order_release);
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    x.store(0, relaxed);
    y.store(0, relaxed);
    round.store(i, std::memory_order_release);
    y.store(1, relaxed);
    os::heavy_fence();
    const int seen = x.load(relaxed);
    while (finished.load(std::memory_order_acquire) != i) {
      std::this_thread::yield();
    }
    missed += seen == 0 && seen_by_other == 0;
  }
  frequent.join();
  return missed;
}

}  // namespace

TEST_CASE("of a light and a heavy fence at least one side sees the other's store") {
  os::prepare_heavy_fence();
  os::prepare_heavy_fence();
  CHECK(both_missed(5'000, [] { os::light_fence(); }) == 0);
}

TEST_CASE("without membarrier both fences are full ones") {
  const bool works = os::membarrier_works.exchange(false);
  CHECK(both_missed(5'000, [] { os::light_fence(); }) == 0);
  os::membarrier_works.store(works);
}
