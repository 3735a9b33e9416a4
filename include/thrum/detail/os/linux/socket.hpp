// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets on Linux: the system calls, with results as in descriptor.hpp. Each new socket is
// non-blocking and is closed by exec.
#ifndef THRUM_DETAIL_OS_LINUX_SOCKET_HPP
#define THRUM_DETAIL_OS_LINUX_SOCKET_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/socket.hpp>  // IWYU pragma: export
#include <thrum/detail/os/result.hpp>
#include <thrum/detail/os/socket_types.hpp>  // IWYU pragma: export

#include <cstddef>
#include <cstdint>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The C library's functions are points at which pthread_cancel may end the thread. That costs two
/// locked instructions a call in a process of several threads, and no program may cancel a thread that
/// runs goroutines. Sanitizers know the functions only.
inline constexpr bool calls_kernel_directly = !THRUM_TSAN && !THRUM_ASAN;

io_result open_socket(int domain, int type, int protocol) noexcept;

/// Two connected sockets.
io_result open_socket_pair(int type, handle (&fds)[2]) noexcept;

io_result accept(handle fd) noexcept;

THRUM_NOINLINE inline io_result receive(handle fd, void* to, std::size_t n) noexcept {
  if constexpr (calls_kernel_directly) {
    return result_of(::syscall(SYS_recvfrom, fd, to, n, 0, nullptr, nullptr));
  }
  return result_of(::recv(fd, to, n, 0));
}

/// A broken connection is an error, never a signal.
THRUM_NOINLINE inline io_result send(handle fd, const void* from, std::size_t n) noexcept {
  if constexpr (calls_kernel_directly) {
    return result_of(::syscall(SYS_sendto, fd, from, n, MSG_NOSIGNAL, nullptr, 0));
  }
  return result_of(::send(fd, from, n, MSG_NOSIGNAL));
}

/// What is sent and received by the calls below.
using message = basic_message<::mmsghdr>;

io_result send_message(handle fd, const message& one) noexcept;

/// Receives one datagram; `from` may be null. A result above n: the rest of it did not fit.
THRUM_NOINLINE inline io_result receive_from(handle fd, void* to, std::size_t n, ::sockaddr* from,
                                             ::socklen_t* from_size) noexcept {
  if constexpr (calls_kernel_directly) {
    return result_of(::syscall(SYS_recvfrom, fd, to, n, MSG_TRUNC, from, from_size));
  }
  return result_of(::recvfrom(fd, to, n, MSG_TRUNC, from, from_size));
}

/// As send, to an address; null: to the one that the socket is connected to.
THRUM_NOINLINE inline io_result send_to(handle fd, const void* from, std::size_t n,
                                        const ::sockaddr* to, ::socklen_t to_size) noexcept {
  if constexpr (calls_kernel_directly) {
    return result_of(::syscall(SYS_sendto, fd, from, n, MSG_NOSIGNAL, to, to_size));
  }
  return result_of(::sendto(fd, from, n, MSG_NOSIGNAL, to, to_size));
}

/// Several datagrams by one call; how many of them, at least one.
io_result send_messages(handle fd, message* first, unsigned n) noexcept;
io_result receive_messages(handle fd, message* first, unsigned n) noexcept;

/// Sends a file, from `offset` on, to a socket inside the kernel. A broken connection is an error,
/// never a signal.
io_result send_file(handle fd, handle file, std::int64_t offset, std::size_t n) noexcept;

/// Whether that is refused for files of this kind: they must be read and sent.
bool cannot_send_file(io_result sent) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/posix/broken_pipe.hpp>
#include <thrum/detail/os/posix/large_file.hpp>

#include <cerrno>

#include <sys/sendfile.h>

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
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_LINUX_SOCKET_HPP
