// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/freebsd/new_handles.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_FREEBSD_NEW_HANDLES_DEFINITION_HPP
#define THRUM_OS_FREEBSD_NEW_HANDLES_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_FREEBSD

#include <thrum/os/freebsd/new_handles.hpp>
#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/result.hpp>
#include <thrum/os/socket_types.hpp>

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

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_OS_FREEBSD_NEW_HANDLES_DEFINITION_HPP
