// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/socket.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_SOCKET_DEFINITION_HPP
#define THRUM_OS_LINUX_SOCKET_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/os/linux/socket.hpp>
#include <thrum/os/posix/broken_pipe.hpp>
#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/large_file.hpp>
#include <thrum/os/posix/result.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <sys/sendfile.h>
#include <sys/socket.h>

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

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_message(handle fd, const message& one) noexcept {
  return result_of(::sendmsg(fd, &one.header(), MSG_NOSIGNAL));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_messages(handle fd, message* first,
                                                         unsigned n) noexcept {
  return result_of(::sendmmsg(fd, message::array(first), n, MSG_NOSIGNAL));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result receive_messages(handle fd, message* first,
                                                            unsigned n) noexcept {
  return result_of(::recvmmsg(fd, message::array(first), n, 0, nullptr));
}

#if defined(__USE_LARGEFILE64)
inline ::ssize_t send_large_file(handle to, handle from, large_file::offset& at,
                                 std::size_t n) noexcept {
  return ::sendfile64(to, from, &at, n);
}
#else
inline ::ssize_t send_large_file(handle to, handle from, large_file::offset& at,
                                 std::size_t n) noexcept {
  return ::sendfile(to, from, &at, n);
}
#endif

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_file(handle fd, handle file, std::int64_t offset,
                                                     std::size_t n) noexcept {
  large_file::offset at = offset;
  // The signal comes with EPIPE, and with less than n if the connection broke on the way.
  return without_broken_pipe([&] { return result_of(send_large_file(fd, file, at, n)); },
                             [&](io_result result) {
                               return result == -EPIPE ||
                                      (result >= 0 && static_cast<std::size_t>(result) < n);
                             });
}

THRUM_OUT_OF_LINE bool cannot_send_file(io_result sent) noexcept {
  return sent == -EINVAL || sent == -ESPIPE || sent == -ENOSYS;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif  // THRUM_OS_LINUX_SOCKET_DEFINITION_HPP
