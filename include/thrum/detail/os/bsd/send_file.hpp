// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sending a file inside the system, on macOS and FreeBSD: both say beside the result how much was
// sent before it, and that counts.
#ifndef THRUM_DETAIL_OS_BSD_SEND_FILE_HPP
#define THRUM_DETAIL_OS_BSD_SEND_FILE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The system's own call: how much it has sent, also before an error.
io_result send_some(handle fd, handle file, std::int64_t offset, std::size_t n,
                    std::int64_t& sent) noexcept;

/// Sends a file, from `offset` on, to a socket inside the kernel. A broken connection is an error,
/// never a signal.
io_result send_file(handle fd, handle file, std::int64_t offset, std::size_t n) noexcept;

/// Whether that is refused for files of this kind: they must be read and sent.
bool cannot_send_file(io_result sent) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#if THRUM_OS_FREEBSD
#include <thrum/detail/os/posix/broken_pipe.hpp>
#endif

#include <cerrno>

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE io_result send_file(handle fd, handle file, std::int64_t offset,
                                      std::size_t n) noexcept {
  std::int64_t sent = 0;
  const io_result result = n != 0 ? send_some(fd, file, offset, n, sent) : 0;  // 0: all of it
  return sent != 0 ? sent : result;
}

THRUM_OUT_OF_LINE bool cannot_send_file(io_result sent) noexcept {
  return sent == -EINVAL || sent == -ENOTSUP || sent == -EOPNOTSUPP || sent == -ENOTSOCK ||
         sent == -ESPIPE;
}

#if THRUM_OS_MACOS
THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_some(handle fd, handle file, std::int64_t offset,
                                                     std::size_t n, std::int64_t& sent) noexcept {
  ::off_t length = static_cast<::off_t>(n);
  const io_result result = result_of(::sendfile(file, fd, offset, &length, nullptr, 0));
  sent = length;
  return result;
}
#elif THRUM_OS_FREEBSD
THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_some(handle fd, handle file, std::int64_t offset,
                                                     std::size_t n, std::int64_t& sent) noexcept {
  ::off_t length = 0;
  const io_result result = without_broken_pipe(
      [&] { return result_of(::sendfile(file, fd, offset, n, nullptr, &length, 0)); },
      [](io_result returned) { return returned == -EPIPE; });
  sent = length;
  return result;
}
#endif

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_BSD

#endif  // THRUM_DETAIL_OS_BSD_SEND_FILE_HPP
