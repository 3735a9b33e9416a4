// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Waiting for what must come true, with a time-out that only a failure reaches.
#ifndef THRUM_TESTS_SUPPORT_EVENTUALLY_HPP
#define THRUM_TESTS_SUPPORT_EVENTUALLY_HPP

#include <thrum.hpp>

#include <chrono>

namespace support {

/// Long enough for anything, on any machine.
inline constexpr std::chrono::seconds long_time{120};

/// Whether `claim()` becomes true. Blocks the goroutine or the thread between looks.
template <class Claim>
bool eventually(Claim claim) {
  const auto end = std::chrono::steady_clock::now() + long_time;
  auto pause = std::chrono::microseconds(10);
  while (!claim()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    thrum::sleep_for(pause);
    pause = pause < std::chrono::milliseconds(2) ? pause * 2 : pause;
  }
  return true;
}

/// Whether `claim()` becomes true, looked at between yields: the goroutine stays runnable.
template <class Claim>
bool eventually_yielding(Claim claim) {
  const auto end = std::chrono::steady_clock::now() + long_time;
  while (!claim()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    thrum::this_goroutine::yield();
  }
  return true;
}

}  // namespace support

#endif
