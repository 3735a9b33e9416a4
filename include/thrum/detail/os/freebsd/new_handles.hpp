// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Making sockets and pipes on FreeBSD: they do not block, and exec closes them.
#ifndef THRUM_DETAIL_OS_FREEBSD_NEW_HANDLES_HPP
#define THRUM_DETAIL_OS_FREEBSD_NEW_HANDLES_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_FREEBSD

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/descriptor.hpp>  // IWYU pragma: export: open_pipe
#include <thrum/detail/os/posix/result.hpp>

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

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_DETAIL_OS_FREEBSD_NEW_HANDLES_HPP
