// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Pipes on Linux, and writing without the signal SIGPIPE to one that has no reader any more.
//
// Sockets have MSG_NOSIGNAL; pipes have RWF_NOSIGNAL since Linux 6.18. Before, the thread blocks the
// signal for the length of the call: see os/posix/broken_pipe.hpp.
//
// Moving bytes between a pipe and another descriptor without copying them, on Linux.
#ifndef THRUM_DETAIL_OS_LINUX_PIPE_HPP
#define THRUM_DETAIL_OS_LINUX_PIPE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/posix/descriptor.hpp>  // IWYU pragma: export: open_pipe

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>
#include <thrum/detail/os/socket_types.hpp>

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
inline constinit base::set_once<bool> has_signal_free_write{true};

/// As write() to a pipe or a socket; a missing reader is an error, never a signal.
io_result write_without_signal(handle fd, const void* from, std::size_t n) noexcept;

/// Reads or writes several pieces by one call. A missing reader is an error, never a signal.
io_result read_pieces(handle fd, const piece* parts, std::size_t count) noexcept;
io_result write_pieces(handle fd, const piece* parts, std::size_t count) noexcept;

/// As read(), but -EAGAIN instead of waiting, whatever the mode of the open file; or cannot_tell.
io_result read_at_once(handle fd, void* to, std::size_t n) noexcept;

/// As write_without_signal(), but with -EAGAIN or a part of the count instead of waiting; or
/// cannot_tell.
io_result write_at_once(handle fd, const void* from, std::size_t n) noexcept;

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
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_pipe(handle (&fds)[2]) noexcept {
  return result_of(::pipe2(fds, O_NONBLOCK | O_CLOEXEC));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result transfer_with_flags(long number, handle fd,
                                                               const piece* parts,
                                                               std::size_t count,
                                                               int flags) noexcept {
  constexpr unsigned long where_it_is = ~0UL;  // an offset of -1
  const io_result result =
      result_of(::syscall(number, fd, parts, count, where_it_is, where_it_is, flags));
  return result == -ENOSYS ? cannot_tell : result;
}

THRUM_OUT_OF_LINE io_result write_without_signal(handle fd, const void* from,
                                                 std::size_t n) noexcept {
  const piece part = piece_of(from, n);
  return write_pieces(fd, &part, 1);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_pieces(handle fd, const piece* parts,
                                                       std::size_t count) noexcept {
  return result_of(::readv(fd, parts, static_cast<int>(count)));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_pieces(handle fd, const piece* parts,
                                                        std::size_t count) noexcept {
#if defined(SYS_pwritev2)
  if (has_signal_free_write.get()) {
    const io_result result = transfer_with_flags(SYS_pwritev2, fd, parts, count, rwf_nosignal);
    if (result != cannot_tell) {
      return result;
    }
    has_signal_free_write.set(false);
  }
#endif
  return without_broken_pipe(
      [&] { return result_of(::writev(fd, parts, static_cast<int>(count))); },
      [](io_result result) { return result == -EPIPE; });
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_at_once(handle fd, void* to,
                                                        std::size_t n) noexcept {
#if defined(SYS_preadv2)
  const piece part = piece_of(to, n);
  return transfer_with_flags(SYS_preadv2, fd, &part, 1, rwf_nowait);
#else
  static_cast<void>(fd), static_cast<void>(to), static_cast<void>(n);
  return cannot_tell;
#endif
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_at_once(handle fd, const void* from,
                                                         std::size_t n) noexcept {
#if defined(SYS_pwritev2)
  const piece part = piece_of(from, n);
  if (has_signal_free_write.get()) {
    const io_result result =
        transfer_with_flags(SYS_pwritev2, fd, &part, 1, rwf_nowait | rwf_nosignal);
    if (result != cannot_tell) {
      return result;
    }
  }
  return without_broken_pipe(
      [&] { return transfer_with_flags(SYS_pwritev2, fd, &part, 1, rwf_nowait); },
      [](io_result result) { return result == -EPIPE; });
#else
  static_cast<void>(fd), static_cast<void>(from), static_cast<void>(n);
  return cannot_tell;
#endif
}

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

#endif
#endif  // THRUM_DETAIL_OS_LINUX_PIPE_HPP
