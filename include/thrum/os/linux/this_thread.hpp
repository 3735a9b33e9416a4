// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What Linux does for the calling thread in its own way: its name and number, its CPU, how it
// sleeps; and counting threads.
#ifndef THRUM_OS_LINUX_THIS_THREAD_HPP
#define THRUM_OS_LINUX_THIS_THREAD_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Names the calling thread for debuggers and ps; what is longer than 15 bytes is cut off.
void set_thread_name(const char* name) noexcept;

/// Asks the kernel that the calling thread, when it wakes, should not wait for others to use up
/// their time on a CPU. No privilege is needed, the share of CPU time stays the same. Without
/// effect before Linux 6.12.
void ask_for_short_waits() noexcept;

/// The CPU that the calling thread runs on; it may have left it by now. No system call.
std::uint32_t current_cpu() noexcept;

/// The kernel's number of the calling thread: unique in the system while the thread lives. A system
/// call. May be called from a signal handler.
std::uint64_t thread_id() noexcept;

/// Threads of this process, also those of others; 0 if the system does not say. No malloc.
std::size_t count_threads() noexcept;

/// Blocks the thread for ns nanoseconds, through any number of signals; at once when ns <= 0.
/// May be called from a signal handler.
THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/this_thread_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_THIS_THREAD_HPP
