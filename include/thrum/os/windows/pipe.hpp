// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Pipes. The system's anonymous ones cannot be waited for together with others, so there are none for
// goroutines yet: what was opened elsewhere is read and written by a thread.
#ifndef THRUM_OS_WINDOWS_PIPE_HPP
#define THRUM_OS_WINDOWS_PIPE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/descriptor.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// `not_supported`.
inline io_result open_pipe(handle (&)[2]) noexcept { return not_supported; }

/// What a call that does not wait returns where the system has none.
inline constexpr io_result cannot_tell = not_supported;

/// There is no signal.
inline io_result write_without_signal(handle fd, const void* from, std::size_t n) noexcept {
  return write(fd, from, n);
}

inline io_result read_at_once(handle, void*, std::size_t) noexcept { return cannot_tell; }
inline io_result write_at_once(handle, const void*, std::size_t) noexcept { return cannot_tell; }

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_PIPE_HPP
