// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a call of the system says: a count, or below zero an error of the system.
//
// Errors are the system's own numbers, those of its sockets among them, and never errno values: a
// refused connection is 10061 here, and what the C library calls ECONNREFUSED is 107. The floors above
// know those by name that they say or ask for; users compare with std::errc.
#ifndef THRUM_OS_WINDOWS_RESULT_HPP
#define THRUM_OS_WINDOWS_RESULT_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <cstdint>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A count, a place in a file or a handle; or, below zero, an error of the system.
using io_result = std::int64_t;

/// What a call has to say that returns whether it worked: `value`, or the calling thread's last error.
io_result result_of(bool worked, io_result value) noexcept;

// What floors above say themselves, or ask for.
inline constexpr int would_block = -10035;  ///< WSAEWOULDBLOCK: not without waiting
inline constexpr int interrupted = -10004;  ///< WSAEINTR: call again
inline constexpr int cancelled = -995;      ///< ERROR_OPERATION_ABORTED: somebody has closed it
inline constexpr int no_memory = -8;   ///< ERROR_NOT_ENOUGH_MEMORY: or no room in a table of ours
inline constexpr int bad_handle = -6;  ///< ERROR_INVALID_HANDLE: there is no such descriptor
inline constexpr int invalid = -87;    ///< ERROR_INVALID_PARAMETER: it makes no sense
inline constexpr int not_supported = -50;     ///< ERROR_NOT_SUPPORTED: not of such an object
inline constexpr int no_such_process = -128;  ///< ERROR_WAIT_NO_CHILDREN: it was waited for
inline constexpr int no_offsets = -132;       ///< ERROR_SEEK_ON_DEVICE: a stream: it has no places
inline constexpr int no_address = -10039;     ///< WSAEDESTADDRREQ: an endpoint that is none
inline constexpr int not_connected = -10057;  ///< WSAENOTCONN: a socket without a peer
inline constexpr int in_progress =
    -997;  ///< ERROR_IO_PENDING: begun, and the poller tells of its end
// What a network says that stands in for the system's.
inline constexpr int peer_reset = -10054;     ///< WSAECONNRESET: the peer is gone
inline constexpr int peer_refused = -10061;   ///< WSAECONNREFUSED: nobody listens there
inline constexpr int peer_silent = -10060;    ///< WSAETIMEDOUT: no answer for too long
inline constexpr int peer_closed = -109;      ///< ERROR_BROKEN_PIPE: nobody will read that
inline constexpr int address_taken = -10048;  ///< WSAEADDRINUSE: somebody else has it
inline constexpr int too_long = -10040;       ///< WSAEMSGSIZE: no datagram is as long
// What a poller says.
inline constexpr int always_ready =
    -1;  ///< ERROR_INVALID_FUNCTION: a kind of file for which nobody waits
inline constexpr int already_added = -183;  ///< ERROR_ALREADY_EXISTS: the same handle twice
inline constexpr int not_armed = -1168;     ///< ERROR_NOT_FOUND: it was not

/// Whether a call has failed because there are too many descriptors, or too little memory for one
/// more: later it may succeed.
bool out_of_handles(io_result result) noexcept;

/// The error that users see; nothing else makes one of a system's result. No error from 0 on.
std::error_code error_code_of(io_result result) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/result_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_RESULT_HPP
