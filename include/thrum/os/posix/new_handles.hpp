// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Making sockets and pipes where that takes one call for each property: that they do not block, that
// exec closes them, that writing raises no signal.
//
// Between the calls a fork of another thread would inherit what exec does not close yet. Children
// of ours do not: spawn() closes all but their streams where the system can.
#ifndef THRUM_OS_POSIX_NEW_HANDLES_HPP
#define THRUM_OS_POSIX_NEW_HANDLES_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_MACOS || (THRUM_OS_LINUX && THRUM_OS_PORTABLE)

#include <thrum/os/posix/child_pipe.hpp>  // IWYU pragma: export: open_pipe
#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/result.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Makes it as all handles of ours are, and closes it if that fails: itself, or an error below zero.
io_result made_ours(io_result fresh) noexcept;

io_result open_socket(int domain, int type, int protocol) noexcept;

/// Two connected sockets.
io_result open_socket_pair(int type, handle (&fds)[2]) noexcept;

io_result accept(handle fd) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/new_handles_definition.hpp>
#endif

#endif  // THRUM_OS_MACOS || (THRUM_OS_LINUX && THRUM_OS_PORTABLE)
#endif  // THRUM_OS_POSIX_NEW_HANDLES_HPP
