// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The clock of the scheduler.
#ifndef THRUM_DETAIL_OS_POSIX_CLOCK_HPP
#define THRUM_DETAIL_OS_POSIX_CLOCK_HPP

#include <cstdint>

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/nanoseconds.hpp>  // IWYU pragma: export

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

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_CLOCK_HPP
