// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How much of something a test may ask for where everything is slower or scarcer: under a
// sanitizer, or in an emulator, for which THRUM_TEST_SCALE=n divides all counts by n.
#ifndef THRUM_TESTS_SUPPORT_SCALE_HPP
#define THRUM_TESTS_SUPPORT_SCALE_HPP

#include <thrum/detail/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace support {

/// What every count is divided by.
inline std::size_t slowness() {
  static const std::size_t divisor = [] {
    const char* const text = std::getenv("THRUM_TEST_SCALE");
    const long from_environment = text == nullptr ? 1 : std::strtol(text, nullptr, 10);
    const std::size_t sanitizer = THRUM_TSAN ? 10 : THRUM_ASAN ? 4 : 1;
    return sanitizer * static_cast<std::size_t>(std::max(from_environment, 1L));
  }();
  return divisor;
}

/// A number of repetitions: `n` on bare metal, fewer elsewhere, never under `least`.
template <class Count>
Count scaled(Count n, Count least = 1) {
  return std::max(static_cast<Count>(static_cast<std::size_t>(n) / slowness()), least);
}

/// A number of goroutines that live at the same time. ThreadSanitizer of gcc 12 ends the program at
/// 8,128 threads and fibres.
inline int live_goroutines(int n) {
  constexpr int room_on_32_bits = 4'000;  // for their stacks, beside those of other sizes
  if (sizeof(void*) < 8) {
    n = std::min(n, room_on_32_bits);
  }
  constexpr int sanitizer_limit = 4'000;
  return THRUM_TSAN ? std::min(n, sanitizer_limit) : scaled(n, std::min(n, 1'000));
}

/// Whether figures of memory mean anything: sanitizers and emulators keep their own beside ours.
inline bool memory_is_exact() { return slowness() == 1; }

/// Whether frames are as small as a user's, who optimises.
#if defined(__OPTIMIZE__)
inline constexpr bool optimised = true;
#else
inline constexpr bool optimised = false;
#endif

/// Whether an emulator of another processor runs the tests.
inline bool emulated() { return std::getenv("THRUM_TEST_EMULATOR") != nullptr; }

}  // namespace support

#endif
