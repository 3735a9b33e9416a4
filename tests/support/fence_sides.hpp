// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The two sides of an asymmetric fence against each other.
#ifndef THRUM_TESTS_SUPPORT_FENCE_SIDES_HPP
#define THRUM_TESTS_SUPPORT_FENCE_SIDES_HPP

#include <thrum/detail/os/os.hpp>

#include <atomic>
#include <thread>

namespace support {

/// Store on one side, fence, load of the other's word: in how many rounds both sides have read zero,
/// which must not be. `light()` is passed by one thread, `heavy(its reference)` by the other.
template <class LightFence, class HeavyFence>
int both_missed(int rounds, LightFence light, HeavyFence heavy) {
  constexpr auto relaxed = std::memory_order_relaxed;
  std::atomic<int> x{0}, y{0};
  std::atomic<int> round{0}, finished{0};
  int seen_by_other = 0;
  int missed = 0;
  thrum::os::thread_ref other;
  std::thread frequent([&] {
    other.open();
    for (int i = 1; i <= rounds; ++i) {
      while (round.load(std::memory_order_acquire) != i) {
        std::this_thread::yield();
      }
      x.store(1, relaxed);
      light();
      seen_by_other = y.load(relaxed);
      finished.store(i, std::memory_order_release);
    }
    other.close();
  });
  for (int i = 1; i <= rounds; ++i) {
    x.store(0, relaxed);
    y.store(0, relaxed);
    round.store(i, std::memory_order_release);
    y.store(1, relaxed);
    heavy(other);
    const int seen = x.load(relaxed);
    while (finished.load(std::memory_order_acquire) != i) {
      std::this_thread::yield();
    }
    missed += seen == 0 && seen_by_other == 0;
  }
  frequent.join();
  return missed;
}

}  // namespace support

#endif
