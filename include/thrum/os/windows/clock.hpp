// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The clock of the scheduler: the system's counter, which never goes back.
#ifndef THRUM_OS_WINDOWS_CLOCK_HPP
#define THRUM_OS_WINDOWS_CLOCK_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/nanoseconds.hpp>  // IWYU pragma: export

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Nanoseconds of QueryPerformanceCounter, in its steps, which are of 100 ns on most machines.
std::int64_t now() noexcept;

/// now() + ns, or the end of time where that would overflow. Negative ns gives now().
inline std::int64_t deadline_after(std::int64_t ns) noexcept { return later(now(), ns); }

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/clock_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_CLOCK_HPP
