// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Making sockets and pipes where nothing but POSIX is there: FreeBSD makes them by one call so that they do not
// block and exec closes them. Elsewhere that takes one call for each property: that they do not block, that
// exec closes them, that writing raises no signal.
//
// Between the calls a fork of another thread would inherit what exec does not close yet. Children
// of ours do not: spawn() closes all but their streams where the system can.
#ifndef THRUM_DETAIL_OS_POSIX_NEW_HANDLES_HPP
#define THRUM_DETAIL_OS_POSIX_NEW_HANDLES_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD || (THRUM_OS_LINUX && THRUM_OS_PORTABLE)

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/descriptor.hpp>  // IWYU pragma: export: open_pipe
#include <thrum/detail/os/result.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

io_result open_socket(int domain, int type, int protocol) noexcept;

/// Two connected sockets.
io_result open_socket_pair(int type, handle (&fds)[2]) noexcept;

io_result accept(handle fd) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/socket_types.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

#if THRUM_OS_FREEBSD

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_socket(int domain, int type,
                                                       int protocol) noexcept {
  return result_of(::socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_socket_pair(int type, handle (&fds)[2]) noexcept {
  return result_of(::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result accept(handle fd) noexcept {
  return result_of(::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_pipe(handle (&fds)[2]) noexcept {
  return result_of(::pipe2(fds, O_NONBLOCK | O_CLOEXEC));
}

#else

/// Makes it as all handles of ours are, and closes it if that fails: itself, or an error below zero.
THRUM_NOINLINE THRUM_OUT_OF_LINE io_result made_ours(io_result fresh) noexcept {
  if (fresh < 0) {
    return fresh;
  }
  const handle fd = handle_of(fresh);
  io_result result = result_of(::fcntl(fd, F_SETFD, FD_CLOEXEC));
  if (result >= 0) {
    result = set_nonblocking(fd, true);
  }
#if defined(F_SETNOSIGPIPE)
  if (result >= 0) {
    result = result_of(::fcntl(fd, F_SETNOSIGPIPE, 1));  // a socket or a pipe, as the case may be
  }
#endif
  if (result < 0) {
    close(fd);
    return result;
  }
  return fresh;
}

/// Both, or none.
inline io_result made_ours(io_result made, handle (&fds)[2]) noexcept {
  if (made < 0) {
    return made;
  }
  const io_result first = made_ours(fds[0]);
  if (first < 0) {
    close(fds[1]);
    return first;
  }
  const io_result second = made_ours(fds[1]);
  if (second < 0) {
    close(fds[0]);
    return second;
  }
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_socket(int domain, int type,
                                                       int protocol) noexcept {
  return made_ours(result_of(::socket(domain, type, protocol)));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_socket_pair(int type, handle (&fds)[2]) noexcept {
  return made_ours(result_of(::socketpair(AF_UNIX, type, 0, fds)), fds);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result accept(handle fd) noexcept {
  return made_ours(result_of(::accept(fd, nullptr, nullptr)));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_pipe(handle (&fds)[2]) noexcept {
  return made_ours(result_of(::pipe(fds)), fds);
}

#endif

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_BSD || (THRUM_OS_LINUX && THRUM_OS_PORTABLE)
#endif  // THRUM_DETAIL_OS_POSIX_NEW_HANDLES_HPP
