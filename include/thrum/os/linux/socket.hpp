// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets on Linux: the system calls, with results as in descriptor.hpp. Each new socket is
// non-blocking and is closed by exec.
#ifndef THRUM_OS_LINUX_SOCKET_HPP
#define THRUM_OS_LINUX_SOCKET_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/linux/descriptor.hpp>

#if THRUM_OS_LINUX

#include <cstddef>
#include <cstdint>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The C library's functions are points at which pthread_cancel may end the thread. That costs two
/// locked instructions a call in a process of several threads, and nobody may cancel a thread that
/// runs goroutines. Sanitizers know the functions only.
inline constexpr bool calls_kernel_directly = !THRUM_TSAN && !THRUM_ASAN;

io_result open_socket(int domain, int type, int protocol) noexcept;

/// Two connected sockets.
io_result open_socket_pair(int type, int (&fds)[2]) noexcept;

io_result connect(int fd, const ::sockaddr* to, ::socklen_t size) noexcept;

io_result bind(int fd, const ::sockaddr* to, ::socklen_t size) noexcept;

io_result listen(int fd, int backlog) noexcept;

io_result accept(int fd) noexcept;

THRUM_NOINLINE inline io_result receive(int fd, void* to, std::size_t n) noexcept {
  if constexpr (calls_kernel_directly) {
    return result_of(::syscall(SYS_recvfrom, fd, to, n, 0, nullptr, nullptr));
  }
  return result_of(::recv(fd, to, n, 0));
}

/// As receive, but what is read stays there to be received.
io_result peek(int fd, void* to, std::size_t n) noexcept;

/// A broken connection is an error, never a signal.
THRUM_NOINLINE inline io_result send(int fd, const void* from, std::size_t n) noexcept {
  if constexpr (calls_kernel_directly) {
    return result_of(::syscall(SYS_sendto, fd, from, n, MSG_NOSIGNAL, nullptr, 0));
  }
  return result_of(::send(fd, from, n, MSG_NOSIGNAL));
}

io_result send_message(int fd, const ::msghdr& message) noexcept;

/// Receives one datagram; `from` may be null. A result above n: the rest of it did not fit.
THRUM_NOINLINE inline io_result receive_from(int fd, void* to, std::size_t n, ::sockaddr* from,
                                             ::socklen_t* from_size) noexcept {
  if constexpr (calls_kernel_directly) {
    return result_of(::syscall(SYS_recvfrom, fd, to, n, MSG_TRUNC, from, from_size));
  }
  return result_of(::recvfrom(fd, to, n, MSG_TRUNC, from, from_size));
}

/// As send, to an address; null: to the one that the socket is connected to.
THRUM_NOINLINE inline io_result send_to(int fd, const void* from, std::size_t n,
                                        const ::sockaddr* to, ::socklen_t to_size) noexcept {
  if constexpr (calls_kernel_directly) {
    return result_of(::syscall(SYS_sendto, fd, from, n, MSG_NOSIGNAL, to, to_size));
  }
  return result_of(::sendto(fd, from, n, MSG_NOSIGNAL, to, to_size));
}

/// Several datagrams by one call; how many of them, at least one.
io_result send_messages(int fd, ::mmsghdr* messages, unsigned n) noexcept;
io_result receive_messages(int fd, ::mmsghdr* messages, unsigned n) noexcept;

/// Sends a file, from `offset` on, to a socket inside the kernel. A broken connection is an error,
/// never a signal.
io_result send_file(int fd, int file, std::int64_t offset, std::size_t n) noexcept;

io_result shut_down(int fd, int how) noexcept;

io_result set_option(int fd, int level, int name, int value) noexcept;

/// Negative: off.
io_result set_linger(int fd, int seconds) noexcept;

/// The value, which is not negative, or an errno value below zero.
io_result get_option(int fd, int level, int name) noexcept;

/// The address at this end, or the one at the other.
io_result socket_name(int fd, bool peer, ::sockaddr* to, ::socklen_t& size) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/socket_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif
