// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the system may know or not: tests take it away, to see what is done instead. Where the library
// was told to do without, nothing is there to be taken.
#ifndef TESTS_SUPPORT_SYSTEM_WAYS_HPP
#define TESTS_SUPPORT_SYSTEM_WAYS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>

namespace support {

/// Whether a handle can stand for a child.
inline constexpr bool has_process_handles =
    THRUM_OS_WINDOWS || (THRUM_OS_LINUX && !THRUM_OS_PORTABLE);

/// Handles that stand for a child, from now on.
inline void allow_process_handles([[maybe_unused]] bool allowed) {
#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE
  thrum::os::has_pidfd = allowed;
#endif
}

/// Calls that write without a signal, from now on.
inline void allow_signal_free_writes([[maybe_unused]] bool allowed) {
#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE
  thrum::os::has_signal_free_write = allowed;
#endif
}

/// Guards of stacks are pages of their own, as with an older kernel, from now on.
inline void use_plain_guards() {
#if THRUM_OS_LINUX
  thrum::os::guard_support = thrum::os::guard_support_state::no;
#endif
}

}  // namespace support

#endif
