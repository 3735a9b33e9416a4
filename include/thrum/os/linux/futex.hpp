// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleeping on a word, on Linux: the futex calls. What they promise is in os/note.hpp.
#ifndef THRUM_OS_LINUX_FUTEX_HPP
#define THRUM_OS_LINUX_FUTEX_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The forms of the system call. Where `long` has 64 bits they are the same one; elsewhere the
/// second came with Linux 5.1, and the first waits for 68 years at most.
enum class futex_form : std::uint8_t { with_long_seconds, with_64_bits };

/// The system call itself: its result, and errno.
long call_futex_wait(futex_form form, std::atomic<std::uint32_t>& word, std::uint32_t expected,
                     std::int64_t timeout_ns) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/futex_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_FUTEX_HPP
