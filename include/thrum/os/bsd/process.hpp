// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Children on macOS and FreeBSD: a kqueue that has only the end of one stands for it. It becomes
// readable with that, and as nobody takes the event out it stays so.
//
// waitid() is not used: on macOS it returns also for a child that has been stopped.
#ifndef THRUM_OS_BSD_PROCESS_HPP
#define THRUM_OS_BSD_PROCESS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_BSD

#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/process.hpp>  // IWYU pragma: export
#include <thrum/os/posix/result.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A handle that stands for a child and becomes readable at its end; closed by exec.
io_result open_process(std::int64_t pid) noexcept;

/// Waits for the end of a child: 0, or would_block if it may not block and the child runs.
/// `reap`: the child's number is given back.
io_result wait_process(std::int64_t pid, handle child, bool may_block, bool reap,
                       process_end& end) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/bsd/process_definition.hpp>
#endif

#endif  // THRUM_OS_BSD
#endif  // THRUM_OS_BSD_PROCESS_HPP
