// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The clock of the scheduler: the system's counter, which never goes back.
#ifndef THRUM_DETAIL_OS_WINDOWS_CLOCK_HPP
#define THRUM_DETAIL_OS_WINDOWS_CLOCK_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/nanoseconds.hpp>  // IWYU pragma: export

#include <cstdint>

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

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_CLOCK_HPP
