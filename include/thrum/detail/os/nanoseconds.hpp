// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a clock's nanoseconds are turned into.
#ifndef THRUM_DETAIL_OS_NANOSECONDS_HPP
#define THRUM_DETAIL_OS_NANOSECONDS_HPP

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

#endif  // THRUM_DETAIL_OS_NANOSECONDS_HPP
