// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets: the system calls that POSIX systems have in common. Making one, receiving and sending
// are in the system's own file of this name.
#ifndef THRUM_OS_POSIX_SOCKET_HPP
#define THRUM_OS_POSIX_SOCKET_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/result.hpp>
#include <thrum/os/socket_types.hpp>
#include <thrum/os/tcp_numbers.hpp>  // IWYU pragma: export

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// They need no beginning here.
inline void start_sockets() noexcept {}

/// in_progress: connection_state() tells how it ends.
io_result connect(handle fd, const ::sockaddr* to, ::socklen_t size) noexcept;

/// 0: it is connected; in_progress; or why it is not. An error is told once.
io_result connection_state(handle fd) noexcept;

io_result bind(handle fd, const ::sockaddr* to, ::socklen_t size) noexcept;

io_result listen(handle fd, int backlog) noexcept;

/// Whether accept() has failed because that connection, in the queue, has ended by now.
bool gone_while_queued(io_result accepted) noexcept;

/// As receive, but what is read stays there to be received.
io_result peek(handle fd, void* to, std::size_t n) noexcept;

inline constexpr int reading = SHUT_RD;
inline constexpr int writing = SHUT_WR;

/// One of these two ends.
io_result shut_down(handle fd, int what) noexcept;

io_result set_option(handle fd, int level, int name, int value) noexcept;

/// Lets a listener have an address that a connection of a former one still has.
io_result reuse_address(handle fd) noexcept;
/// Lets several listeners have one address, between which the system divides connections.
io_result reuse_port(handle fd) noexcept;

/// Small pieces are sent at once, and not gathered. TCP.
io_result set_no_delay(handle fd, bool on) noexcept;

/// How a connection finds out that its peer is gone: after so many seconds of silence it asks, at
/// intervals, so often. TCP.
struct keep_alive_numbers {
  int idle_s;
  int interval_s;
  int count;
};

/// Below zero: the first that the system has refused. The numbers count if it is on.
io_result set_keep_alive(handle fd, bool on, const keep_alive_numbers& numbers) noexcept;

/// Negative: off.
io_result set_linger(handle fd, int seconds) noexcept;

/// A listener takes data that comes with the connection itself, for at most so many of them. After
/// listen().
io_result set_fast_open(handle fd, int most) noexcept;

/// Joins a group of receivers, or leaves it, on the network interface with that number; 0: the system
/// chooses.
io_result set_member(handle fd, bool joins, const ::sockaddr* group, ::socklen_t size,
                     unsigned link) noexcept;

/// How a socket of that family sends to groups: on which interface, how far, and whether this machine
/// gets it, too.
io_result set_multicast_link(handle fd, bool is_v6, unsigned link) noexcept;
io_result set_multicast_hops(handle fd, bool is_v6, int hops) noexcept;
io_result set_multicast_loop(handle fd, bool is_v6, bool on) noexcept;

/// not_supported where the system does not say.
io_result get_tcp_numbers(handle fd, tcp_numbers& numbers) noexcept;

/// The value, which is not negative, or an error below zero.
io_result get_option(handle fd, int level, int name) noexcept;

/// The address at this end, or the one at the other.
io_result socket_name(handle fd, bool peer, ::sockaddr* to, ::socklen_t& size) noexcept;

/// The address family that the socket was made for.
io_result socket_family(handle fd) noexcept;

/// The number of a network interface by its name; 0: there is none of that name.
unsigned interface_number(const char* name) noexcept;

/// After getaddrinfo() has returned that: the system's error, below zero, if it says that there is
/// one, else 0.
io_result resolver_cause(int returned) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/socket_definition.hpp>
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_OS_POSIX_SOCKET_HPP
