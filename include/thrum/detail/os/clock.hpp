// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The clock of the scheduler, and what its nanoseconds are turned into.
#ifndef THRUM_DETAIL_OS_CLOCK_HPP
#define THRUM_DETAIL_OS_CLOCK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/convert.hpp>

#include <cstdint>
#include <limits>

#include <time.h>

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

/// start + ns, or the end of time where that would overflow. Negative ns gives start.
constexpr std::int64_t later(std::int64_t start, std::int64_t ns) noexcept {
  if (ns <= 0) {
    return start;
  }
  return ns > INT64_MAX - start ? INT64_MAX : start + ns;
}

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_OS_POSIX

#include <ctime>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Nanoseconds of CLOCK_MONOTONIC: never goes back, does not count suspension. About 20 ns, no
/// system call. May be called from a signal handler.
inline std::int64_t now() noexcept {
  ::timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * nanoseconds_per_second + t.tv_nsec;
}

/// now() + ns, or the end of time where that would overflow. Negative ns gives now().
inline std::int64_t deadline_after(std::int64_t ns) noexcept { return later(now(), ns); }

}}}  // namespace thrum::THRUM_ABI::os

#elif THRUM_OS_WINDOWS

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Nanoseconds of QueryPerformanceCounter, in its steps, which are of 100 ns on most machines.
std::int64_t now() noexcept;

/// now() + ns, or the end of time where that would overflow. Negative ns gives now().
inline std::int64_t deadline_after(std::int64_t ns) noexcept { return later(now(), ns); }

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/windows/api.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// How often the counter counts in a second; the system never changes it.
inline constinit base::set_once<std::int64_t> counts_per_second{0};

THRUM_NOINLINE THRUM_OUT_OF_LINE std::int64_t now() noexcept {
  std::int64_t frequency = counts_per_second.get();
  if (frequency == 0) [[unlikely]] {
    ::LARGE_INTEGER found;
    ::QueryPerformanceFrequency(&found);
    frequency = found.QuadPart;
    counts_per_second.set(frequency);
  }
  ::LARGE_INTEGER counted;
  ::QueryPerformanceCounter(&counted);
  constexpr std::int64_t usual = 10'000'000;
  if (frequency == usual) [[likely]] {
    return counted.QuadPart * (nanoseconds_per_second / usual);
  }
  return counted.QuadPart / frequency * nanoseconds_per_second +
         counted.QuadPart % frequency * nanoseconds_per_second / frequency;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif

#endif  // THRUM_DETAIL_OS_CLOCK_HPP
