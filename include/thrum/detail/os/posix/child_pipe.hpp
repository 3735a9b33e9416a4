// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Pipes, and those of which a child gets one end. Each system has its way to make one.
#ifndef THRUM_DETAIL_OS_POSIX_CHILD_PIPE_HPP
#define THRUM_DETAIL_OS_POSIX_CHILD_PIPE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/os/posix/descriptor.hpp>
#include <thrum/detail/os/posix/handle.hpp>
#include <thrum/detail/os/posix/result.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

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

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_CHILD_PIPE_HPP
