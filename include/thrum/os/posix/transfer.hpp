// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Receiving and sending, where the system has no more than POSIX.
//
// A message at a time, in place of many by one call. Of a datagram that did not fit nobody says how
// long it was, only that it was longer.
#ifndef THRUM_OS_POSIX_TRANSFER_HPP
#define THRUM_OS_POSIX_TRANSFER_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_BSD || THRUM_OS_PORTABLE

#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/message.hpp>  // IWYU pragma: export
#include <thrum/os/posix/result.hpp>
#include <thrum/os/socket_types.hpp>

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

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/transfer_definition.hpp>
#endif

#endif  // THRUM_OS_BSD || THRUM_OS_PORTABLE
#endif  // THRUM_OS_POSIX_TRANSFER_HPP
