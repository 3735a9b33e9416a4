// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/clock.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_WINDOWS_CLOCK_DEFINITION_HPP
#define THRUM_OS_WINDOWS_CLOCK_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/base/order.hpp>
#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/clock.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// How often the counter counts in a second; the system never changes it.
inline constinit std::atomic<std::int64_t> counts_per_second{0};

THRUM_NOINLINE THRUM_OUT_OF_LINE std::int64_t now() noexcept {
  std::int64_t frequency = counts_per_second.load(relaxed);  // relaxed: a constant once set
  if (frequency == 0) [[unlikely]] {
    ::LARGE_INTEGER found;
    ::QueryPerformanceFrequency(&found);
    frequency = found.QuadPart;
    counts_per_second.store(frequency, relaxed);  // relaxed: a constant once set
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

#endif  // THRUM_OS_WINDOWS
#endif
