// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the calling thread asks about itself.
#ifndef THRUM_OS_WINDOWS_THIS_THREAD_HPP
#define THRUM_OS_WINDOWS_THIS_THREAD_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Names the calling thread for debuggers; does nothing before Windows 10 1607.
void set_thread_name(const char* name) noexcept;

/// Has the system look at its timers each millisecond, for the rest of the process, and not each 15.6;
/// and the calling thread run when it wakes: of equals, the one that computes goes on to the end of its
/// turn, which on a server is 180 ms. No privilege is needed.
void ask_for_short_waits() noexcept;

/// The CPU that the calling thread runs on; it may have left it by now.
std::uint32_t current_cpu() noexcept;

/// The system's number of the calling thread: unique in it while the thread lives.
std::uint64_t thread_id() noexcept;

/// 0: the system starts threads of its own in each process.
inline std::size_t count_threads() noexcept { return 0; }

/// Blocks the thread for ns nanoseconds; at once when ns <= 0.
void sleep_ns(std::int64_t ns) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/this_thread_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_THIS_THREAD_HPP
