// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Receiving, sending and writing, where the system has no more than POSIX.
//
// A message at a time, in place of many by one call. If a datagram did not fit, the system says that
// it was longer, not how long it was.
//
// Writing to a pipe that has no reader any more, and calls that do not wait whatever the mode of the
// open file, where the system has nothing for either.
//
// On macOS the signal goes to the process and not to the writing thread, so no mask keeps it away. But
// an open file can be set to raise none. Files that were made here are set from the beginning. One that
// was handed over is set before the first write to it, and stays so, also for others that have it open.
#ifndef THRUM_DETAIL_OS_POSIX_TRANSFER_HPP
#define THRUM_DETAIL_OS_POSIX_TRANSFER_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD || THRUM_OS_PORTABLE

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>
#include <thrum/detail/os/socket_types.hpp>  // IWYU pragma: export

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

io_result receive(handle fd, void* to, std::size_t n) noexcept;

/// A broken connection is an error, never a signal.
io_result send(handle fd, const void* from, std::size_t n) noexcept;

/// What is sent and received by the calls below.
struct counted_message {
  ::msghdr msg_hdr;
  std::size_t msg_len;  ///< of what was received
};
using message = basic_message<counted_message>;

io_result send_message(handle fd, const message& one) noexcept;

/// Receives one datagram; `from` may be null. A result above n: the rest of it did not fit.
io_result receive_from(handle fd, void* to, std::size_t n, ::sockaddr* from,
                       ::socklen_t* from_size) noexcept;

/// As send, to an address; null: to the one that the socket is connected to.
io_result send_to(handle fd, const void* from, std::size_t n, const ::sockaddr* to,
                  ::socklen_t to_size) noexcept;

/// Several datagrams; how many of them, at least one.
io_result send_messages(handle fd, message* first, unsigned n) noexcept;
io_result receive_messages(handle fd, message* first, unsigned n) noexcept;

/// What a call that does not wait returns where the system has none.
inline constexpr io_result cannot_tell = not_supported;

/// As write() to a pipe or a socket; a missing reader is an error, never a signal.
io_result write_without_signal(handle fd, const void* from, std::size_t n) noexcept;

/// Reads or writes several pieces by one call. A missing reader is an error, never a signal.
io_result read_pieces(handle fd, const piece* parts, std::size_t count) noexcept;
io_result write_pieces(handle fd, const piece* parts, std::size_t count) noexcept;

inline io_result read_at_once(handle, void*, std::size_t) noexcept { return cannot_tell; }
inline io_result write_at_once(handle, const void*, std::size_t) noexcept { return cannot_tell; }

// Moving bytes between descriptors without copying them, where no call does that.

/// Whether the system has it.
inline constexpr bool has_splice = false;

inline io_result splice_to_pipe(handle, handle, std::size_t) noexcept { return not_supported; }
inline io_result splice_from_pipe(handle, handle, std::size_t) noexcept { return not_supported; }

/// Whether that is refused for such descriptors.
constexpr bool cannot_splice(io_result moved) noexcept { return moved == not_supported; }

inline void widen_pipe(handle, std::size_t) noexcept {}

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#if THRUM_OS_MACOS
#include <thrum/detail/os/posix/descriptor.hpp>

#include <fcntl.h>
#else
#include <thrum/detail/os/posix/broken_pipe.hpp>

#include <cerrno>
#endif

#include <sys/uio.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

#if defined(MSG_NOSIGNAL)
inline constexpr int without_signal = MSG_NOSIGNAL;
#else
inline constexpr int without_signal = 0;  // each socket is set so when it is made
#endif

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result receive(handle fd, void* to, std::size_t n) noexcept {
  return result_of(::recv(fd, to, n, 0));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send(handle fd, const void* from,
                                                std::size_t n) noexcept {
  return result_of(::send(fd, from, n, without_signal));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_message(handle fd, const message& one) noexcept {
  return result_of(::sendmsg(fd, &one.header(), without_signal));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result receive_from(handle fd, void* to, std::size_t n,
                                                        ::sockaddr* from,
                                                        ::socklen_t* from_size) noexcept {
  piece room = piece_of(to, n);
  ::msghdr header{};
  header.msg_iov = &room;
  header.msg_iovlen = 1;
  header.msg_name = from;
  header.msg_namelen = from != nullptr ? *from_size : 0;
  const io_result got = result_of(::recvmsg(fd, &header, 0));
  if (got >= 0 && from != nullptr) {
    *from_size = header.msg_namelen;
  }
  return got >= 0 && (header.msg_flags & MSG_TRUNC) != 0 ? got + 1 : got;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_to(handle fd, const void* from, std::size_t n,
                                                   const ::sockaddr* to,
                                                   ::socklen_t to_size) noexcept {
  return result_of(to != nullptr ? ::sendto(fd, from, n, without_signal, to, to_size)
                                 : ::send(fd, from, n, without_signal));
}

THRUM_OUT_OF_LINE io_result send_messages(handle fd, message* first, unsigned n) noexcept {
  for (unsigned i = 0; i != n; ++i) {
    if (const io_result sent = send_message(fd, first[i]); sent < 0) {
      return i != 0 ? io_result{i} : sent;  // the next call says it again
    }
  }
  return io_result{n};
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result receive_messages(handle fd, message* first,
                                                            unsigned n) noexcept {
  counted_message* const all = message::array(first);
  for (unsigned i = 0; i != n; ++i) {
    const io_result got = result_of(::recvmsg(fd, &all[i].msg_hdr, 0));
    if (got < 0) {
      return i != 0 ? io_result{i} : got;
    }
    all[i].msg_len = static_cast<std::size_t>(got);
  }
  return io_result{n};
}

THRUM_OUT_OF_LINE io_result write_without_signal(handle fd, const void* from,
                                                 std::size_t n) noexcept {
  const piece part = piece_of(from, n);
  return write_pieces(fd, &part, 1);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_pieces(handle fd, const piece* parts,
                                                       std::size_t count) noexcept {
  return result_of(::readv(fd, parts, static_cast<int>(count)));
}

#if THRUM_OS_MACOS
THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_pieces(handle fd, const piece* parts,
                                                        std::size_t count) noexcept {
  const io_result told = result_of(::fcntl(fd, F_GETNOSIGPIPE));
  if (told < 0) {
    return told;
  }
  if (told == 0) {
    if (const io_result result = result_of(::fcntl(fd, F_SETNOSIGPIPE, 1)); result < 0) {
      return result;
    }
  }
  return result_of(::writev(fd, parts, static_cast<int>(count)));
}
#else
THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_pieces(handle fd, const piece* parts,
                                                        std::size_t count) noexcept {
  return without_broken_pipe(
      [&] { return result_of(::writev(fd, parts, static_cast<int>(count))); },
      [](io_result result) { return result == -EPIPE; });
}
#endif

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_BSD || THRUM_OS_PORTABLE

#if THRUM_OS_BSD

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// Sending a file inside the system, on macOS and FreeBSD: both say beside the result how much was
// sent before it, and that counts.

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
#endif  // THRUM_DETAIL_OS_POSIX_TRANSFER_HPP
