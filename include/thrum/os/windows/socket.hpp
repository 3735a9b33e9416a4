// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets on Windows: the calls of Winsock, with results as in result.hpp. Each new socket does not
// block, can be waited for by a completion port, and is inherited by no child process.
#ifndef THRUM_OS_WINDOWS_SOCKET_HPP
#define THRUM_OS_WINDOWS_SOCKET_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/socket_types.hpp>
#include <thrum/os/tcp_numbers.hpp>  // IWYU pragma: export
#include <thrum/os/windows/handle.hpp>
#include <thrum/os/windows/message.hpp>  // IWYU pragma: export
#include <thrum/os/windows/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Sockets and names may be used from now on. Once in a process; what opens a socket does it, and what
/// looks up a name must.
void start_sockets() noexcept;

io_result open_socket(int domain, int type, int protocol) noexcept;

/// in_progress: connection_state() tells how it ends.
io_result connect(handle fd, const ::sockaddr* to, ::socklen_t size) noexcept;

/// 0: it is connected; in_progress; or why it is not. An error is told once.
io_result connection_state(handle fd) noexcept;

io_result bind(handle fd, const ::sockaddr* to, ::socklen_t size) noexcept;

io_result listen(handle fd, int backlog) noexcept;

io_result accept(handle fd) noexcept;

/// Whether accept() has failed because that connection, in the queue, has ended by now.
bool gone_while_queued(io_result accepted) noexcept;

io_result receive(handle fd, void* to, std::size_t n) noexcept;

/// As receive, but what is read stays there to be received.
io_result peek(handle fd, void* to, std::size_t n) noexcept;

io_result send(handle fd, const void* from, std::size_t n) noexcept;

io_result send_message(handle fd, const message& one) noexcept;

/// Receives one datagram; `from` may be null. A result above n: the rest of it did not fit; how much
/// that was the system does not say.
io_result receive_from(handle fd, void* to, std::size_t n, ::sockaddr* from,
                       ::socklen_t* from_size) noexcept;

/// As send, to an address; null: to the one that the socket is connected to.
io_result send_to(handle fd, const void* from, std::size_t n, const ::sockaddr* to,
                  ::socklen_t to_size) noexcept;

/// Several datagrams, each by a call; how many of them, at least one.
io_result send_messages(handle fd, message* first, unsigned n) noexcept;
io_result receive_messages(handle fd, message* first, unsigned n) noexcept;

/// Refused: the system's call for it waits until all is sent.
io_result send_file(handle fd, handle file, std::int64_t offset, std::size_t n) noexcept;

/// Whether that is refused for files of this kind: they must be read and sent.
bool cannot_send_file(io_result sent) noexcept;

inline constexpr int reading = SD_RECEIVE;
inline constexpr int writing = SD_SEND;

/// One of these two ends.
io_result shut_down(handle fd, int what) noexcept;

io_result set_option(handle fd, int level, int name, int value) noexcept;

/// A listener may always have an address that a connection of a former one still has. What the option
/// of that name does here, it lets others take the address; this forbids it.
io_result reuse_address(handle fd) noexcept;
/// There is no such thing.
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

/// After getaddrinfo() has returned that: what it returns says all.
inline io_result resolver_cause(int /*returned*/) noexcept { return 0; }

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/socket_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_SOCKET_HPP
