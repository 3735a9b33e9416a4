// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a system call says: a count, or below zero an error of the system, which is -errno on POSIX.
//
// The floors above know errors by the names below and by their signs, and show users what
// error_code_of() makes of them. Names, since systems differ in what they say: a poller of another
// system refuses a file with another number, and elsewhere numbers are not errno values at all.
#ifndef THRUM_DETAIL_OS_RESULT_HPP
#define THRUM_DETAIL_OS_RESULT_HPP

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

#if THRUM_OS_WINDOWS

#include <cstdint>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// Errors are the system's own numbers, those of its sockets among them, and never errno values: a
// refused connection is 10061 here, and what the C library calls ECONNREFUSED is 107. The floors above
// know those by name that they say or ask for; users compare with std::errc.

/// A count, a place in a file or a handle; or, below zero, an error of the system.
using io_result = std::int64_t;

/// What a call has to say that returns whether it worked: `value`, or the calling thread's last error.
io_result result_of(bool worked, io_result value) noexcept;

// What floors above say themselves, or ask for.
inline constexpr int would_block = -10035;  ///< WSAEWOULDBLOCK: not without waiting
inline constexpr int interrupted = -10004;  ///< WSAEINTR: call again
inline constexpr int cancelled = -995;      ///< ERROR_OPERATION_ABORTED: it has been closed
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
inline constexpr int peer_refused = -10061;   ///< WSAECONNREFUSED: no program listens there
inline constexpr int peer_silent = -10060;    ///< WSAETIMEDOUT: no answer for too long
inline constexpr int peer_closed = -109;      ///< ERROR_BROKEN_PIPE: no peer will read that
inline constexpr int address_taken = -10048;  ///< WSAEADDRINUSE: another socket has it
inline constexpr int too_long = -10040;       ///< WSAEMSGSIZE: no datagram is as long
// What a poller says.
inline constexpr int always_ready =
    -1;  ///< ERROR_INVALID_FUNCTION: a kind of file that a poller does not watch
inline constexpr int already_added = -183;  ///< ERROR_ALREADY_EXISTS: the same handle twice
inline constexpr int not_armed = -1168;     ///< ERROR_NOT_FOUND: it was not

/// Whether a call has failed because there are too many descriptors, or too little memory for one
/// more: later it may succeed.
bool out_of_handles(io_result result) noexcept;

/// The error that users see; nothing else makes one of a system's result. No error from 0 on.
std::error_code error_code_of(io_result result) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>

#include <string>

namespace thrum { inline namespace THRUM_ABI { namespace os {

static_assert(would_block == -WSAEWOULDBLOCK && interrupted == -WSAEINTR);
static_assert(cancelled == -ERROR_OPERATION_ABORTED && no_memory == -ERROR_NOT_ENOUGH_MEMORY);
static_assert(bad_handle == -ERROR_INVALID_HANDLE && invalid == -ERROR_INVALID_PARAMETER);
static_assert(not_supported == -ERROR_NOT_SUPPORTED && no_such_process == -ERROR_WAIT_NO_CHILDREN);
static_assert(no_offsets == -ERROR_SEEK_ON_DEVICE && no_address == -WSAEDESTADDRREQ);
static_assert(not_connected == -WSAENOTCONN && in_progress == -ERROR_IO_PENDING);
static_assert(always_ready == -ERROR_INVALID_FUNCTION && already_added == -ERROR_ALREADY_EXISTS);
static_assert(not_armed == -ERROR_NOT_FOUND);

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result result_of(bool worked, io_result value) noexcept {
  return worked ? value : -static_cast<io_result>(::GetLastError());
}

THRUM_OUT_OF_LINE bool out_of_handles(io_result result) noexcept {
  switch (-result) {
    case ERROR_TOO_MANY_OPEN_FILES:
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_NO_SYSTEM_RESOURCES:
    case WSAEMFILE:
    case WSAENOBUFS: return true;
    default: return false;
  }
}

/// The category of the system's errors. The standard library's knows what errors of files mean, and of
/// sockets nothing.
class windows_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "system"; }
  std::string message(int number) const override { return std::system_category().message(number); }
  std::error_condition default_error_condition(int number) const noexcept override {
    switch (number) {
      case WSAEINTR: return std::make_error_condition(std::errc::interrupted);
      case WSAEBADF: return std::make_error_condition(std::errc::bad_file_descriptor);
      case WSAEACCES: return std::make_error_condition(std::errc::permission_denied);
      case WSAEFAULT: return std::make_error_condition(std::errc::bad_address);
      case WSAEINVAL: return std::make_error_condition(std::errc::invalid_argument);
      case WSAEMFILE: return std::make_error_condition(std::errc::too_many_files_open);
      case WSAEWOULDBLOCK: return std::make_error_condition(std::errc::operation_would_block);
      case WSAEINPROGRESS: return std::make_error_condition(std::errc::operation_in_progress);
      case WSAEALREADY: return std::make_error_condition(std::errc::connection_already_in_progress);
      case WSAENOTSOCK: return std::make_error_condition(std::errc::not_a_socket);
      case WSAEDESTADDRREQ:
        return std::make_error_condition(std::errc::destination_address_required);
      case WSAEMSGSIZE: return std::make_error_condition(std::errc::message_size);
      case WSAEPROTOTYPE: return std::make_error_condition(std::errc::wrong_protocol_type);
      case WSAENOPROTOOPT: return std::make_error_condition(std::errc::no_protocol_option);
      case WSAEPROTONOSUPPORT: return std::make_error_condition(std::errc::protocol_not_supported);
      case WSAEOPNOTSUPP: return std::make_error_condition(std::errc::operation_not_supported);
      case WSAEAFNOSUPPORT:
        return std::make_error_condition(std::errc::address_family_not_supported);
      case WSAEADDRINUSE: return std::make_error_condition(std::errc::address_in_use);
      case WSAEADDRNOTAVAIL: return std::make_error_condition(std::errc::address_not_available);
      case WSAENETDOWN: return std::make_error_condition(std::errc::network_down);
      case WSAENETUNREACH: return std::make_error_condition(std::errc::network_unreachable);
      case WSAENETRESET: return std::make_error_condition(std::errc::network_reset);
      case WSAECONNABORTED: return std::make_error_condition(std::errc::connection_aborted);
      case WSAECONNRESET: return std::make_error_condition(std::errc::connection_reset);
      case WSAENOBUFS: return std::make_error_condition(std::errc::no_buffer_space);
      case WSAESHUTDOWN: return std::make_error_condition(std::errc::broken_pipe);
      case WSAEISCONN: return std::make_error_condition(std::errc::already_connected);
      case WSAENOTCONN: return std::make_error_condition(std::errc::not_connected);
      case WSAETIMEDOUT: return std::make_error_condition(std::errc::timed_out);
      case WSAECONNREFUSED: return std::make_error_condition(std::errc::connection_refused);
      case WSAENAMETOOLONG: return std::make_error_condition(std::errc::filename_too_long);
      case WSAEHOSTUNREACH: return std::make_error_condition(std::errc::host_unreachable);
      case ERROR_OPERATION_ABORTED: return std::make_error_condition(std::errc::operation_canceled);
      case ERROR_NOT_SUPPORTED:
        return std::make_error_condition(std::errc::operation_not_supported);
      case ERROR_WAIT_NO_CHILDREN: return std::make_error_condition(std::errc::no_such_process);
      case ERROR_DIRECTORY: return std::make_error_condition(std::errc::not_a_directory);
      case ERROR_IO_PENDING: return std::make_error_condition(std::errc::operation_in_progress);
      default: return std::system_category().default_error_condition(number);
    }
  }
};

THRUM_NOINLINE THRUM_OUT_OF_LINE std::error_code error_code_of(io_result result) noexcept {
  static const windows_category category;
  return {result < 0 ? static_cast<int>(-result) : 0, category};
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_RESULT_HPP
