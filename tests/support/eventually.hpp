// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Waiting for what must come true, with a time-out that only a failure reaches.
#ifndef THRUM_TESTS_SUPPORT_EVENTUALLY_HPP
#define THRUM_TESTS_SUPPORT_EVENTUALLY_HPP

#include <thrum.hpp>

#include <chrono>
#include <cstdint>

namespace support {

/// Long enough for anything, on any machine.
inline constexpr std::chrono::seconds long_time{120};

/// Whether `claim(of)` becomes true, looked at again after each `wait(n)`; compiled once, and not for
/// each claim.
inline bool becomes_true(bool (*claim)(void* of), void* of, void (*wait)(int n)) {
  const auto end = std::chrono::steady_clock::now() + long_time;
  for (int n = 0; !claim(of); ++n) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    wait(n);
  }
  return true;
}

template <class Claim>
bool becomes_true(Claim& claim, void (*wait)(int n)) {
  return becomes_true([](void* of) { return static_cast<bool>((*static_cast<Claim*>(of))()); },
                      &claim, wait);
}

/// Whether `claim()` becomes true. Blocks the goroutine or the thread between looks.
template <class Claim>
bool eventually(Claim claim) {
  return becomes_true(
      claim, [](int n) { thrum::sleep_for(std::chrono::microseconds(n < 8 ? 10 << n : 2'000)); });
}

/// Whether there come to be n goroutines of this runtime that wait.
inline bool are_waiting(std::uint64_t n) {
  return eventually([n] { return thrum::stats().waiting == n; });
}

/// Whether `claim()` becomes true, looked at between yields: the goroutine stays runnable.
template <class Claim>
bool eventually_yielding(Claim claim) {
  return becomes_true(claim, [](int) { thrum::this_goroutine::yield(); });
}

/// As are_waiting, looked at between yields.
inline bool eventually_waiting(std::uint64_t n) {
  return eventually_yielding([n] { return thrum::stats().waiting == n; });
}

}  // namespace support

#endif
