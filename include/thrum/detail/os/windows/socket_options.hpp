// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Options of sockets on Windows, and what a socket says of itself: its addresses, its family.
#ifndef THRUM_DETAIL_OS_WINDOWS_SOCKET_OPTIONS_HPP
#define THRUM_DETAIL_OS_WINDOWS_SOCKET_OPTIONS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/answers.hpp>  // IWYU pragma: export
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>
#include <thrum/detail/os/socket_types.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

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

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>

#include <cstddef>
#include <cstring>

#include <mstcpip.h>
#include <netioapi.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a call of Winsock has returned.
inline io_result socket_result(std::int64_t returned) noexcept {
  return returned == SOCKET_ERROR ? -static_cast<io_result>(::WSAGetLastError()) : returned;
}

/// An option that is no plain number, or one of a number that has 32 bits.
template <class T>
io_result set_any_option(handle fd, int level, int name, const T& value) noexcept {
  return socket_result(
      ::setsockopt(fd, level, name, reinterpret_cast<const char*>(&value), sizeof value));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_option(handle fd, int level, int name,
                                                      int value) noexcept {
  return set_any_option(fd, level, name, value);
}

THRUM_OUT_OF_LINE io_result reuse_address(handle fd) noexcept {
  return set_option(fd, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1);
}

THRUM_OUT_OF_LINE io_result reuse_port(handle /*fd*/) noexcept { return -WSAEOPNOTSUPP; }

THRUM_OUT_OF_LINE io_result set_no_delay(handle fd, bool on) noexcept {
  return set_option(fd, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0);
}

THRUM_OUT_OF_LINE io_result set_keep_alive(handle fd, bool on,
                                           const keep_alive_numbers& numbers) noexcept {
  io_result result = set_option(fd, SOL_SOCKET, SO_KEEPALIVE, on ? 1 : 0);
  if (!on || result < 0) {
    return result;
  }
  constexpr int longest_s = 0x7fff;  // in milliseconds it has 32 bits
  if (numbers.idle_s > longest_s || numbers.interval_s > longest_s) {
    return invalid;
  }
  // Options of TCP, since Windows 10 1709; not every toolchain's headers know their names.
  constexpr int idle = 3;
  constexpr int count = 16;
  constexpr int interval = 17;
  const int settings[][2] = {
      {idle, numbers.idle_s}, {interval, numbers.interval_s}, {count, numbers.count}};
  for (const auto& [name, value] : settings) {
    if (result >= 0) {
      result = set_option(fd, IPPROTO_TCP, name, value);
    }
  }
  if (result == -WSAENOPROTOOPT) {  // an older one, in which the count is fixed
    constexpr ::ULONG ms = 1000;
    ::tcp_keepalive both{1, static_cast<::ULONG>(numbers.idle_s) * ms,
                         static_cast<::ULONG>(numbers.interval_s) * ms};
    ::DWORD size = 0;
    result = socket_result(::WSAIoctl(fd, SIO_KEEPALIVE_VALS, &both, sizeof both, nullptr, 0, &size,
                                      nullptr, nullptr));
  }
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_linger(handle fd, int seconds) noexcept {
  constexpr int longest = 0xffff;
  const int part = seconds < longest ? seconds : longest;
  const ::linger how{static_cast<::u_short>(seconds >= 0 ? 1 : 0),
                     static_cast<::u_short>(seconds >= 0 ? part : 0)};
  return set_any_option(fd, SOL_SOCKET, SO_LINGER, how);
}

THRUM_OUT_OF_LINE io_result set_fast_open(handle fd, int most) noexcept {
  constexpr int fast_open = 15;  // TCP_FASTOPEN, which not every toolchain's headers know
  return set_option(fd, IPPROTO_TCP, fast_open, most != 0 ? 1 : 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_member(handle fd, bool joins,
                                                      const ::sockaddr* group, ::socklen_t size,
                                                      unsigned link) noexcept {
  ::GROUP_REQ request{};
  if (size < 0 || static_cast<std::size_t>(size) > sizeof request.gr_group) {
    return invalid;
  }
  request.gr_interface = link;
  std::memcpy(&request.gr_group, group, static_cast<std::size_t>(size));
  const int level =
      group->sa_family == AF_INET6 ? static_cast<int>(IPPROTO_IPV6) : static_cast<int>(IPPROTO_IP);
  return set_any_option(fd, level, joins ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP, request);
}

THRUM_OUT_OF_LINE io_result set_multicast_link(handle fd, bool is_v6, unsigned link) noexcept {
  return is_v6 ? set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(link))
               : set_option(fd, IPPROTO_IP, IP_MULTICAST_IF, static_cast<int>(::htonl(link)));
}

THRUM_OUT_OF_LINE io_result set_multicast_hops(handle fd, bool is_v6, int hops) noexcept {
  return is_v6 ? set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops)
               : set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, hops);
}

THRUM_OUT_OF_LINE io_result set_multicast_loop(handle fd, bool is_v6, bool on) noexcept {
  return is_v6 ? set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, on ? 1 : 0)
               : set_option(fd, IPPROTO_IP, IP_MULTICAST_LOOP, on ? 1 : 0);
}

THRUM_OUT_OF_LINE io_result get_tcp_numbers(handle /*fd*/, tcp_numbers& /*numbers*/) noexcept {
  return not_supported;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result get_option(handle fd, int level, int name) noexcept {
  int value = 0;
  int size = sizeof value;
  const int returned = ::getsockopt(fd, level, name, reinterpret_cast<char*>(&value), &size);
  return returned == 0 ? value : socket_result(returned);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result socket_name(handle fd, bool peer, ::sockaddr* to,
                                                       ::socklen_t& size) noexcept {
  return socket_result(peer ? ::getpeername(fd, to, &size) : ::getsockname(fd, to, &size));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result socket_family(handle fd) noexcept {
  ::WSAPROTOCOL_INFOW about{};
  int size = sizeof about;
  const int returned =
      ::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL_INFOW, reinterpret_cast<char*>(&about), &size);
  return returned == 0 ? about.iAddressFamily : socket_result(returned);
}

THRUM_OUT_OF_LINE unsigned interface_number(const char* name) noexcept {
  return ::if_nametoindex(name);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_SOCKET_OPTIONS_HPP
