// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/socket.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_SOCKET_DEFINITION_HPP
#define THRUM_OS_LINUX_SOCKET_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/os/linux/descriptor.hpp>
#include <thrum/os/linux/large_file.hpp>
#include <thrum/os/linux/pipe_definition.hpp>
#include <thrum/os/linux/socket.hpp>

#include <cstddef>
#include <cstdint>

#include <sys/socket.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_socket(int domain, int type,
                                                       int protocol) noexcept {
  return result_of(::socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_socket_pair(int type, int (&fds)[2]) noexcept {
  return result_of(::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result connect(int fd, const ::sockaddr* to,
                                                   ::socklen_t size) noexcept {
  return result_of(::connect(fd, to, size));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result bind(int fd, const ::sockaddr* to,
                                                ::socklen_t size) noexcept {
  return result_of(::bind(fd, to, size));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result listen(int fd, int backlog) noexcept {
  return result_of(::listen(fd, backlog));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result accept(int fd) noexcept {
  return result_of(::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result peek(int fd, void* to, std::size_t n) noexcept {
  return result_of(::recv(fd, to, n, MSG_PEEK));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_message(int fd, const ::msghdr& message) noexcept {
  return result_of(::sendmsg(fd, &message, MSG_NOSIGNAL));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_messages(int fd, ::mmsghdr* messages,
                                                         unsigned n) noexcept {
  return result_of(::sendmmsg(fd, messages, n, MSG_NOSIGNAL));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result receive_messages(int fd, ::mmsghdr* messages,
                                                            unsigned n) noexcept {
  return result_of(::recvmmsg(fd, messages, n, 0, nullptr));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_file(int fd, int file, std::int64_t offset,
                                                     std::size_t n) noexcept {
  large_file::offset at = offset;
  // The signal comes with EPIPE, and with less than n if the connection broke on the way.
  return without_broken_pipe([&] { return result_of(large_file::sendfile(fd, file, at, n)); },
                             [&](io_result result) {
                               return result == -EPIPE ||
                                      (result >= 0 && static_cast<std::size_t>(result) < n);
                             });
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result shut_down(int fd, int how) noexcept {
  return result_of(::shutdown(fd, how));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_option(int fd, int level, int name,
                                                      int value) noexcept {
  return result_of(::setsockopt(fd, level, name, &value, sizeof value));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_linger(int fd, int seconds) noexcept {
  const ::linger how{seconds >= 0 ? 1 : 0, seconds >= 0 ? seconds : 0};
  return result_of(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &how, sizeof how));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result get_option(int fd, int level, int name) noexcept {
  int value = 0;
  ::socklen_t size = sizeof value;
  return ::getsockopt(fd, level, name, &value, &size) == 0 ? value : -errno;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result socket_name(int fd, bool peer, ::sockaddr* to,
                                                       ::socklen_t& size) noexcept {
  return result_of(peer ? ::getpeername(fd, to, &size) : ::getsockname(fd, to, &size));
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
