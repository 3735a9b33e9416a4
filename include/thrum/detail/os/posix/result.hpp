// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a system call says, on systems where that is errno: a count, or -errno below zero.
//
// The floors above know errors by the names below and by their signs, and show users what
// error_code_of() makes of them. Names, since systems differ in what they say: a poller of another
// system refuses a file with another number, and elsewhere numbers are not errno values at all.
#ifndef THRUM_DETAIL_OS_POSIX_RESULT_HPP
#define THRUM_DETAIL_OS_POSIX_RESULT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A count, a place in a file or a handle; or, below zero, an error of the system.
using io_result = std::int64_t;

/// What a call that returns -1 and sets errno has to say. Not inlined: see os/thread_state.hpp.
THRUM_NOINLINE inline io_result result_of(io_result returned) noexcept {
  return returned >= 0 ? returned : -errno;
}

// What floors above say themselves, or ask for.
inline constexpr int would_block = -EAGAIN;        ///< not without waiting
inline constexpr int interrupted = -EINTR;         ///< a signal came: call again
inline constexpr int cancelled = -ECANCELED;       ///< the descriptor has been closed
inline constexpr int no_memory = -ENOMEM;          ///< or no room in a table of ours
inline constexpr int bad_handle = -EBADF;          ///< there is no such descriptor
inline constexpr int invalid = -EINVAL;            ///< an argument that makes no sense
inline constexpr int not_supported = -EOPNOTSUPP;  ///< not of such an object
inline constexpr int no_such_process = -ESRCH;     ///< it has ended, and was waited for
inline constexpr int no_offsets = -ESPIPE;         ///< a stream: it has no places
inline constexpr int no_address = -EDESTADDRREQ;   ///< an endpoint that is none
inline constexpr int not_connected = -ENOTCONN;    ///< a socket without a peer
inline constexpr int in_progress = -EINPROGRESS;   ///< begun, and the poller tells of its end
// What a network says that stands in for the system's.
inline constexpr int peer_reset = -ECONNRESET;      ///< the peer is gone, with what was sent
inline constexpr int peer_refused = -ECONNREFUSED;  ///< no program listens there
inline constexpr int peer_silent = -ETIMEDOUT;      ///< no answer for too long
inline constexpr int peer_closed = -EPIPE;          ///< no peer will ever read that
inline constexpr int address_taken = -EADDRINUSE;   ///< another socket has it
inline constexpr int too_long = -EMSGSIZE;          ///< no datagram is as long
// What a poller says.
inline constexpr int always_ready = -EPERM;    ///< a kind of file that a poller does not watch
inline constexpr int already_added = -EEXIST;  ///< the same number twice
inline constexpr int not_armed = -ENOENT;      ///< it was not, or the number is another file's

/// Whether a call has failed because there are too many descriptors, or too little memory for one
/// more: later it may succeed.
constexpr bool out_of_handles(io_result result) noexcept {
  return result == -EMFILE || result == -ENFILE || result == -ENOBUFS || result == -ENOMEM;
}

/// The error that users see; nothing else makes one of a system's result. No error from 0 on.
std::error_code error_code_of(io_result result) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE std::error_code error_code_of(io_result result) noexcept {
  return {result < 0 ? static_cast<int>(-result) : 0, std::system_category()};
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_RESULT_HPP
