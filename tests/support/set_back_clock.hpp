// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A clock that is set back while somebody waits for a moment of it.
#ifndef THRUM_TESTS_SUPPORT_SET_BACK_CLOCK_HPP
#define THRUM_TESTS_SUPPORT_SET_BACK_CLOCK_HPP

#include <atomic>
#include <chrono>

namespace support {

struct set_back_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<set_back_clock>;
  static constexpr bool is_steady = false;

  /// A moment 2 ms from now. After the next call of now() the clock is set back by 4 ms.
  static time_point soon() {
    const time_point when = now() + std::chrono::milliseconds(2);
    will_be_set_back = true;
    return when;
  }

  static time_point now() noexcept {
    const duration behind(set_back_by.load());
    if (will_be_set_back.exchange(false)) {
      set_back_by += duration(std::chrono::milliseconds(4)).count();
    }
    return time_point(std::chrono::steady_clock::now().time_since_epoch() - behind);
  }

 private:
  static inline std::atomic<bool> will_be_set_back{false};
  static inline std::atomic<rep> set_back_by{0};
};

}  // namespace support

#endif
