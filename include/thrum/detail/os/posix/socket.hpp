// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets: the system calls that POSIX systems have in common. Making one, receiving and sending
// are in the system's own file of this name.
#ifndef THRUM_DETAIL_OS_POSIX_SOCKET_HPP
#define THRUM_DETAIL_OS_POSIX_SOCKET_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/os/answers.hpp>  // IWYU pragma: export
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>
#include <thrum/detail/os/socket_types.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// They need no beginning here.
inline void start_sockets() noexcept {}

/// in_progress: connection_state() tells how it ends.
io_result connect(handle fd, const ::sockaddr* to, ::socklen_t size) noexcept;

/// 0: it is connected; in_progress; or why it is not. Returns an error once.
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

#if THRUM_BODIES
#include <cerrno>
#include <climits>
#include <cstring>

#include <net/if.h>
#include <netinet/tcp.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result connect(handle fd, const ::sockaddr* to,
                                                   ::socklen_t size) noexcept {
  const io_result result = result_of(::connect(fd, to, size));
  return result == interrupted ? in_progress : result;  // after a signal it goes on by itself
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result connection_state(handle fd) noexcept {
  const io_result pending = get_option(fd, SOL_SOCKET, SO_ERROR);
  if (pending != 0) {
    const bool goes_on = pending == EINPROGRESS || pending == EALREADY || pending == EINTR;
    return goes_on ? in_progress : pending > 0 ? -pending : pending;
  }
  ::sockaddr_storage peer{};
  ::socklen_t size = sizeof peer;
  const io_result named = socket_name(fd, true, reinterpret_cast<::sockaddr*>(&peer), size);
  return named == not_connected ? in_progress : 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result bind(handle fd, const ::sockaddr* to,
                                                ::socklen_t size) noexcept {
  return result_of(::bind(fd, to, size));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result listen(handle fd, int backlog) noexcept {
  return result_of(::listen(fd, backlog));
}

THRUM_OUT_OF_LINE bool gone_while_queued(io_result accepted) noexcept {
  for (const int error : {
#if defined(ENONET)
         ENONET,
#endif
             ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH
       }) {
    if (accepted == -error) {
      return true;
    }
  }
  return false;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result peek(handle fd, void* to, std::size_t n) noexcept {
  return result_of(::recv(fd, to, n, MSG_PEEK));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result shut_down(handle fd, int what) noexcept {
  return result_of(::shutdown(fd, what));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_option(handle fd, int level, int name,
                                                      int value) noexcept {
  return result_of(::setsockopt(fd, level, name, &value, sizeof value));
}

THRUM_OUT_OF_LINE io_result reuse_address(handle fd) noexcept {
  return set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
}

THRUM_OUT_OF_LINE io_result reuse_port(handle fd) noexcept {
  return set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
}

THRUM_OUT_OF_LINE io_result set_no_delay(handle fd, bool on) noexcept {
  return set_option(fd, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0);
}

THRUM_OUT_OF_LINE io_result set_keep_alive(handle fd, bool on,
                                           const keep_alive_numbers& numbers) noexcept {
#if defined(TCP_KEEPIDLE)
  constexpr int idle = TCP_KEEPIDLE;
#else
  constexpr int idle = TCP_KEEPALIVE;
#endif
  io_result result = set_option(fd, SOL_SOCKET, SO_KEEPALIVE, on ? 1 : 0);
  const int settings[][2] = {
      {idle, numbers.idle_s}, {TCP_KEEPINTVL, numbers.interval_s}, {TCP_KEEPCNT, numbers.count}};
  for (const auto& [name, value] : settings) {
    if (result >= 0 && on) {
      result = set_option(fd, IPPROTO_TCP, name, value);
    }
  }
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_linger(handle fd, int seconds) noexcept {
  const ::linger how{seconds >= 0 ? 1 : 0, seconds >= 0 ? seconds : 0};
  return result_of(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &how, sizeof how));
}

THRUM_OUT_OF_LINE io_result set_fast_open([[maybe_unused]] handle fd,
                                          [[maybe_unused]] int most) noexcept {
#if defined(TCP_FASTOPEN)
  return set_option(fd, IPPROTO_TCP, TCP_FASTOPEN, most);
#else
  return not_supported;
#endif
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_member(handle fd, bool joins,
                                                      const ::sockaddr* group, ::socklen_t size,
                                                      unsigned link) noexcept {
  ::group_req request{};
  if (size > sizeof request.gr_group) {
    return invalid;
  }
  request.gr_interface = link;
  std::memcpy(&request.gr_group, group, size);
  const int level = group->sa_family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
  const int name = joins ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP;
#if defined(IP_MULTICAST_ALL)
  // Else it gets what is sent to a group of which any socket of the machine is a member, as on no other
  // system. Kernels that do not know it for IPv6 (before 4.20) go on like that.
  constexpr int v6_multicast_all = 29;  // IPV6_MULTICAST_ALL
  set_option(fd, level, level == IPPROTO_IPV6 ? v6_multicast_all : IP_MULTICAST_ALL, 0);
#endif
  return result_of(::setsockopt(fd, level, name, &request, sizeof request));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_multicast_link(handle fd, bool is_v6,
                                                              unsigned link) noexcept {
  if (is_v6) {
    return set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(link));
  }
  ::ip_mreqn request{};
  request.imr_ifindex = static_cast<int>(link);
  return result_of(::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_multicast_hops(handle fd, bool is_v6,
                                                              int hops) noexcept {
  if (is_v6) {
    return set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops);
  }
  if (hops < 0 || hops > UCHAR_MAX) {
    return invalid;
  }
  const auto byte = static_cast<unsigned char>(hops);  // which all systems take
  return result_of(::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &byte, sizeof byte));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_multicast_loop(handle fd, bool is_v6,
                                                              bool on) noexcept {
  if (is_v6) {
    return set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, on ? 1 : 0);
  }
  const unsigned char byte = on ? 1 : 0;  // which all systems take
  return result_of(::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &byte, sizeof byte));
}

#if defined(TCP_INFO)
/// A template, in which the members may be missing that only Linux has.
template <class Info>
io_result read_tcp_numbers(handle fd, tcp_numbers& numbers) noexcept {
  if constexpr (requires(Info info) { info.tcpi_total_retrans; }) {
    Info info{};
    ::socklen_t size = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
      return -errno;
    }
    numbers.rtt_us = info.tcpi_rtt;
    numbers.rtt_variance_us = info.tcpi_rttvar;
    if constexpr (requires { info.tcpi_min_rtt; }) {
      numbers.least_rtt_us = info.tcpi_min_rtt;
    }
    numbers.timeout_us = info.tcpi_rto;
    numbers.window = info.tcpi_snd_cwnd;
    numbers.threshold = info.tcpi_snd_ssthresh;
    numbers.segment_size = info.tcpi_snd_mss;
    numbers.unacknowledged = info.tcpi_unacked;
    numbers.lost = info.tcpi_lost;
    numbers.retransmits = info.tcpi_total_retrans;
    numbers.retries = info.tcpi_retransmits;
    return 0;
  } else {
    return not_supported;
  }
}
#endif

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result
get_tcp_numbers([[maybe_unused]] handle fd, [[maybe_unused]] tcp_numbers& numbers) noexcept {
#if defined(TCP_INFO)
  return read_tcp_numbers<::tcp_info>(fd, numbers);
#else
  return not_supported;
#endif
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result get_option(handle fd, int level, int name) noexcept {
  int value = 0;
  ::socklen_t size = sizeof value;
  return ::getsockopt(fd, level, name, &value, &size) == 0 ? value : -errno;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result socket_name(handle fd, bool peer, ::sockaddr* to,
                                                       ::socklen_t& size) noexcept {
  return result_of(peer ? ::getpeername(fd, to, &size) : ::getsockname(fd, to, &size));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result socket_family(handle fd) noexcept {
#if defined(SO_DOMAIN)
  return get_option(fd, SOL_SOCKET, SO_DOMAIN);
#else
  ::sockaddr_storage own{};
  ::socklen_t size = sizeof own;
  const io_result named = socket_name(fd, false, reinterpret_cast<::sockaddr*>(&own), size);
  return named < 0 ? named : own.ss_family;
#endif
}

THRUM_OUT_OF_LINE unsigned interface_number(const char* name) noexcept {
  return ::if_nametoindex(name);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result resolver_cause(int returned) noexcept {
  return returned == EAI_SYSTEM ? io_result{-errno} : 0;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_SOCKET_HPP
