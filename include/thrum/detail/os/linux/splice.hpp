// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Moving bytes between a pipe and another descriptor without copying them, on Linux.
#ifndef THRUM_DETAIL_OS_LINUX_SPLICE_HPP
#define THRUM_DETAIL_OS_LINUX_SPLICE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/detail/os/posix/handle.hpp>
#include <thrum/detail/os/posix/result.hpp>

#include <cerrno>
#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Whether the system has it.
inline constexpr bool has_splice = true;

/// Moves at most n bytes into a pipe that has a reader, without waiting. would_block: there are none,
/// or the pipe has no room. 0: the end.
io_result splice_to_pipe(handle from, handle pipe, std::size_t n) noexcept;

/// Moves at most n bytes out of a pipe, without waiting. would_block: there are none, or no room for
/// them. A broken connection is an error, never a signal.
io_result splice_from_pipe(handle pipe, handle to, std::size_t n) noexcept;

/// Whether that is refused for such descriptors: their bytes must be read and written.
constexpr bool cannot_splice(io_result moved) noexcept {
  return moved == -EINVAL || moved == -ENOSYS || moved == -EOPNOTSUPP;
}

/// How much a pipe may hold, as far as the system allows: it stays as it is where it does not.
void widen_pipe(handle either_end, std::size_t n) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/posix/broken_pipe.hpp>

#include <fcntl.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result splice_to_pipe(handle from, handle pipe,
                                                          std::size_t n) noexcept {
  return result_of(::splice(from, nullptr, pipe, nullptr, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
}

THRUM_OUT_OF_LINE io_result splice_from_pipe(handle pipe, handle to, std::size_t n) noexcept {
  return without_broken_pipe([&] { return splice_to_pipe(pipe, to, n); },
                             [&](io_result result) {
                               return result == -EPIPE ||
                                      (result >= 0 && static_cast<std::size_t>(result) < n);
                             });
}

THRUM_OUT_OF_LINE void widen_pipe(handle either_end, std::size_t n) noexcept {
  static_cast<void>(::fcntl(either_end, F_SETPIPE_SZ, static_cast<int>(n)));
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_LINUX_SPLICE_HPP
