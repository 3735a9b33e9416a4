// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The clock of the scheduler on Linux.
#ifndef THRUM_OS_LINUX_CLOCK_HPP
#define THRUM_OS_LINUX_CLOCK_HPP

#include <cstdint>

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <ctime>

namespace thrum { inline namespace THRUM_ABI { namespace os {

inline constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

/// Splits nanoseconds, which are not negative, into what the kernel takes.
constexpr ::timespec to_timespec(std::int64_t ns) noexcept {
  ::timespec t{};
  t.tv_sec = ns / nanoseconds_per_second;
  t.tv_nsec = ns % nanoseconds_per_second;
  return t;
}

/// Nanoseconds of CLOCK_MONOTONIC: never goes back, does not count suspension. About 20 ns, no
/// system call. May be called from a signal handler.
inline std::int64_t now() noexcept {
  ::timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * nanoseconds_per_second + t.tv_nsec;
}

/// now() + ns, or the end of time where that would overflow. Negative ns gives now().
inline std::int64_t deadline_after(std::int64_t ns) noexcept {
  const std::int64_t start = now();
  if (ns <= 0) {
    return start;
  }
  return ns > INT64_MAX - start ? INT64_MAX : start + ns;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_CLOCK_HPP
