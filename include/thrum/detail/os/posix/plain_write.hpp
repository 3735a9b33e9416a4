// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Writing to a pipe that has no reader any more, and calls that do not wait whatever the mode of the
// open file, where the system has nothing for either.
//
// On macOS the signal goes to the process and not to the writing thread, so no mask keeps it away. But an open file can be set to raise none. Files that were made here are set from the beginning. One that
// was handed over is set before the first write to it, and stays so, also for others that have it open.
#ifndef THRUM_DETAIL_OS_POSIX_PLAIN_WRITE_HPP
#define THRUM_DETAIL_OS_POSIX_PLAIN_WRITE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD || (THRUM_OS_LINUX && THRUM_OS_PORTABLE)

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/message.hpp>
#include <thrum/detail/os/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a call that does not wait returns where the system has none.
inline constexpr io_result cannot_tell = not_supported;

/// As write() to a pipe or a socket; a missing reader is an error, never a signal.
io_result write_without_signal(handle fd, const void* from, std::size_t n) noexcept;

/// Reads or writes several pieces by one call. A missing reader is an error, never a signal.
io_result read_pieces(handle fd, const piece* parts, std::size_t count) noexcept;
io_result write_pieces(handle fd, const piece* parts, std::size_t count) noexcept;

inline io_result read_at_once(handle, void*, std::size_t) noexcept { return cannot_tell; }
inline io_result write_at_once(handle, const void*, std::size_t) noexcept { return cannot_tell; }

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#if THRUM_OS_MACOS
#include <thrum/detail/os/posix/descriptor.hpp>

#include <fcntl.h>
#else
#include <thrum/detail/os/posix/broken_pipe.hpp>

#include <cerrno>
#endif

#include <sys/uio.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE io_result write_without_signal(handle fd, const void* from,
                                                 std::size_t n) noexcept {
  const piece part = piece_of(from, n);
  return write_pieces(fd, &part, 1);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_pieces(handle fd, const piece* parts,
                                                       std::size_t count) noexcept {
  return result_of(::readv(fd, parts, static_cast<int>(count)));
}

#if THRUM_OS_MACOS
THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_pieces(handle fd, const piece* parts,
                                                        std::size_t count) noexcept {
  const io_result told = result_of(::fcntl(fd, F_GETNOSIGPIPE));
  if (told < 0) {
    return told;
  }
  if (told == 0) {
    if (const io_result result = result_of(::fcntl(fd, F_SETNOSIGPIPE, 1)); result < 0) {
      return result;
    }
  }
  return result_of(::writev(fd, parts, static_cast<int>(count)));
}
#else
THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_pieces(handle fd, const piece* parts,
                                                        std::size_t count) noexcept {
  return without_broken_pipe(
      [&] { return result_of(::writev(fd, parts, static_cast<int>(count))); },
      [](io_result result) { return result == -EPIPE; });
}
#endif

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_BSD || (THRUM_OS_LINUX && THRUM_OS_PORTABLE)
#endif  // THRUM_DETAIL_OS_POSIX_PLAIN_WRITE_HPP
