// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Descriptors: the calls that every kind of them shares.
//
// No call is repeated here after a signal: that is for the caller, which knows its deadline. None
// of them is inlined, because each reads errno: see os/thread_state.hpp.
//
// Pipes, and those of which a child gets one end. Each system has its way to make one.
#ifndef THRUM_DETAIL_OS_POSIX_DESCRIPTOR_HPP
#define THRUM_DETAIL_OS_POSIX_DESCRIPTOR_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/os/handle.hpp>  // IWYU pragma: export
#include <thrum/detail/os/result.hpp>

#include <cstddef>

#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE inline io_result read(handle fd, void* to, std::size_t n) noexcept {
  return result_of(::read(fd, to, n));
}

THRUM_NOINLINE inline io_result write(handle fd, const void* from, std::size_t n) noexcept {
  return result_of(::write(fd, from, n));
}

/// The number is free afterwards, whatever the result. A signal, which would cut short what a socket
/// with set_linger waits for, waits for the end.
io_result close(handle fd) noexcept;

io_result set_nonblocking(handle fd, bool on) noexcept;

/// Waits with the thread until the descriptor is readable (or writable), for at most timeout_ms.
/// 1, 0 after the time, or an errno value below zero: -EBADF if it is none.
io_result wait_for(handle fd, bool to_write, int timeout_ms) noexcept;

/// The end to read from, then the one to write to: non-blocking, closed by exec.
io_result open_pipe(handle (&fds)[2]) noexcept;

/// As open_pipe(), with one end that blocks: the child's input, or what it writes to.
inline io_result open_pipe_to_child(handle (&fds)[2], bool child_reads) noexcept {
  const io_result result = open_pipe(fds);
  if (result >= 0) {
    set_nonblocking(fds[child_reads ? 0 : 1], false);
  }
  return result;
}

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/posix/thread.hpp>

#include <cerrno>

#include <fcntl.h>
#include <poll.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result close(handle fd) noexcept {
  const uninterrupted still;
  return result_of(::close(fd));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_nonblocking(handle fd, bool on) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) {
    return -errno;
  }
  const int wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
  return wanted == flags ? 0 : result_of(::fcntl(fd, F_SETFL, wanted));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result wait_for(handle fd, bool to_write,
                                                    int timeout_ms) noexcept {
  ::pollfd one{fd, static_cast<short>(to_write ? POLLOUT : POLLIN), 0};
  const int returned = ::poll(&one, 1, timeout_ms);
  return returned > 0 && (one.revents & POLLNVAL) != 0 ? -EBADF : result_of(returned);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif
#endif  // THRUM_DETAIL_OS_POSIX_DESCRIPTOR_HPP
