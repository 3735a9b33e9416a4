// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Child processes on Linux: waiting for them, and signals.
//
// A pidfd is a descriptor that stands for a child and becomes readable when it has ended (Linux
// 5.3; seccomp and emulators may refuse it). Calls here take one beside the number, or no_handle;
// with it they cannot meet another process that got the number later.
#ifndef THRUM_OS_LINUX_PROCESS_HPP
#define THRUM_OS_LINUX_PROCESS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/process.hpp>  // IWYU pragma: export
#include <thrum/os/posix/result.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Whether the system knows pidfds, as far as was seen.
inline constinit std::atomic<bool> has_pidfd{true};

/// A pidfd, closed by exec.
io_result open_process(std::int64_t pid) noexcept;

/// Waits for the end of a child: 0, or -EAGAIN if it may not block and the child runs.
/// `reap`: the child's number is given back.
io_result wait_process(std::int64_t pid, handle pidfd, bool may_block, bool reap,
                       process_end& end) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/process_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif  // THRUM_OS_LINUX_PROCESS_HPP
