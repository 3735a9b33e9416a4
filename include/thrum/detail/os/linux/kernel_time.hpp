// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Times as system calls of Linux take them.
#ifndef THRUM_DETAIL_OS_LINUX_KERNEL_TIME_HPP
#define THRUM_DETAIL_OS_LINUX_KERNEL_TIME_HPP

#include <cstdint>
#include <limits>

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/posix/clock.hpp>

#if THRUM_OS_LINUX

namespace thrum { inline namespace THRUM_ABI { namespace os {

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
/// For system calls that are newer than 32-bit processors' first ones.
using kernel_time = kernel_time_of<std::int64_t>;
/// For 32-bit processors' first system calls.
using old_kernel_time = kernel_time_of<long>;

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_DETAIL_OS_LINUX_KERNEL_TIME_HPP
