// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Pipes on Linux, and writing to one that nobody reads any more without the signal SIGPIPE.
//
// Sockets have MSG_NOSIGNAL; pipes have RWF_NOSIGNAL since Linux 6.18. Before, the thread blocks the
// signal for the length of the call: see os/posix/broken_pipe.hpp.
#ifndef THRUM_OS_LINUX_PIPE_HPP
#define THRUM_OS_LINUX_PIPE_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/posix/child_pipe.hpp>  // IWYU pragma: export: open_pipe
#include <thrum/os/posix/descriptor.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/os/posix/message.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a call that does not wait returns where the system has none, or not for this kind of file.
inline constexpr io_result cannot_tell = -EOPNOTSUPP;

inline constexpr int rwf_nowait = 0x8;      // RWF_NOWAIT, newer than some systems' headers
inline constexpr int rwf_nosignal = 0x100;  // RWF_NOSIGNAL, likewise

/// preadv2 or pwritev2 at the current position. ENOSYS is a way to say that they cannot tell.
io_result transfer_with_flags(long number, handle fd, const piece* parts, std::size_t count,
                              int flags) noexcept;

/// Whether the system knows RWF_NOSIGNAL, as far as was seen.
inline constinit std::atomic<bool> has_signal_free_write{true};

/// As write() to a pipe or a socket; a missing reader is an error, never a signal.
io_result write_without_signal(handle fd, const void* from, std::size_t n) noexcept;

/// The same for several pieces by one call; as readv() and writev().
io_result read_pieces(handle fd, const piece* parts, std::size_t count) noexcept;
io_result write_pieces(handle fd, const piece* parts, std::size_t count) noexcept;

/// As read(), but -EAGAIN instead of waiting, whatever the mode of the open file; or cannot_tell.
io_result read_at_once(handle fd, void* to, std::size_t n) noexcept;

/// As write_without_signal(), but with -EAGAIN or a part of the count instead of waiting; or
/// cannot_tell.
io_result write_at_once(handle fd, const void* from, std::size_t n) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/pipe_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif
