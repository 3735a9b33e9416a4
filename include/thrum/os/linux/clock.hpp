// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The clock of the scheduler on Linux.
#ifndef THRUM_OS_LINUX_CLOCK_HPP
#define THRUM_OS_LINUX_CLOCK_HPP

#include <cstdint>
#include <limits>

#include <thrum/base/config.hpp>
#include <thrum/base/convert.hpp>

#if THRUM_OS_LINUX

#include <ctime>

namespace thrum { inline namespace THRUM_ABI { namespace os {

inline constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

/// Splits nanoseconds, which are not negative, into what the C library takes. Where its seconds have
/// 32 bits they end at their largest value, which is the end of its time.
constexpr ::timespec to_timespec(std::int64_t ns) noexcept {
  using seconds = decltype(::timespec::tv_sec);
  constexpr std::int64_t most = std::numeric_limits<seconds>::max();
  const std::int64_t whole = ns / nanoseconds_per_second;
  ::timespec t{};
  t.tv_sec = static_cast<seconds>(whole < most ? whole : most);
  t.tv_nsec = base::convert<decltype(t.tv_nsec)>(ns % nanoseconds_per_second);
  return t;
}

/// What the kernel itself reads, in system calls that the C library does not make for us. Its own
/// type may have 32 or 64 bits on a system of 32 bits, and says nothing of what a call wants.
template <class Word>
struct kernel_time_of {
  Word seconds = 0;
  Word nanoseconds = 0;

  /// Nanoseconds, which are not negative.
  static constexpr kernel_time_of from(std::int64_t ns) noexcept {
    constexpr std::int64_t most = std::numeric_limits<Word>::max();
    const std::int64_t whole = ns / nanoseconds_per_second;
    return {static_cast<Word>(whole < most ? whole : most),
            static_cast<Word>(ns % nanoseconds_per_second)};
  }
};
/// Of system calls that are newer than 32-bit processors' first ones.
using kernel_time = kernel_time_of<std::int64_t>;
/// Of the first ones.
using old_kernel_time = kernel_time_of<long>;

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
