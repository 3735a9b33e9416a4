// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets on Windows: the calls of Winsock, with results as in result.hpp. Each new socket does not
// block, can be waited for by a completion port, and is inherited by no child process.
#ifndef THRUM_DETAIL_OS_WINDOWS_SOCKET_HPP
#define THRUM_DETAIL_OS_WINDOWS_SOCKET_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/socket_types.hpp>
#include <thrum/detail/os/answers.hpp>  // IWYU pragma: export
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/windows/message.hpp>  // IWYU pragma: export
#include <thrum/detail/os/windows/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Sockets and names may be used from now on. Once in a process; what opens a socket does it, and what
/// looks up a name must.
void start_sockets() noexcept;

io_result open_socket(int domain, int type, int protocol) noexcept;

/// in_progress: connection_state() tells how it ends.
io_result connect(handle fd, const ::sockaddr* to, ::socklen_t size) noexcept;

/// 0: it is connected; in_progress; or why it is not. Returns an error once.
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

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/os/windows/api.hpp>

#include <cstring>

#include <mstcpip.h>
#include <netioapi.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_COLD THRUM_OUT_OF_LINE void start_sockets() noexcept {
  static const int refusal = [] {
    ::WSADATA found;
    return ::WSAStartup(MAKEWORD(2, 2), &found);
  }();
  if (refusal != 0) {
    base::fatal("sockets: the system refuses to start its sockets (WSAStartup)");
  }
}

/// What a call of Winsock has returned.
inline io_result socket_result(std::int64_t returned) noexcept {
  return returned == SOCKET_ERROR ? -static_cast<io_result>(::WSAGetLastError()) : returned;
}

/// As much as one call may be given.
inline int at_most_int(std::size_t n) noexcept {
  constexpr std::size_t most = 0x7fff'ffff;
  return static_cast<int>(n < most ? n : most);
}

/// A new socket, as all of ours are; or none, and why.
inline io_result prepared(::SOCKET s) noexcept {
  if (s == INVALID_SOCKET) {
    return -static_cast<io_result>(::WSAGetLastError());
  }
  ::u_long on = 1;
  if (::ioctlsocket(s, static_cast<long>(FIONBIO), &on) != 0) {
    const io_result error = -static_cast<io_result>(::WSAGetLastError());
    ::closesocket(s);
    return error;
  }
  return static_cast<io_result>(s);
}

/// Sets whether receiving reports that no socket was there for a datagram that this one sent. As on other
/// systems, only a socket with a peer does.
inline void set_tells_of_nobody(handle fd, bool on) noexcept {
  constexpr ::DWORD connection_reset = 0x9800000c;  // SIO_UDP_CONNRESET
  ::BOOL value = on ? TRUE : FALSE;
  ::DWORD size = 0;
  ::WSAIoctl(fd, connection_reset, &value, sizeof value, nullptr, 0, &size, nullptr, nullptr);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_socket(int domain, int type,
                                                       int protocol) noexcept {
  start_sockets();
  const io_result opened = prepared(::WSASocketW(domain, type, protocol, nullptr, 0,
                                                 WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT));
  if (opened >= 0 && type == SOCK_DGRAM) {
    set_tells_of_nobody(handle_of(opened), false);
  }
  return opened;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result connect(handle fd, const ::sockaddr* to,
                                                   ::socklen_t size) noexcept {
  const io_result result = socket_result(::connect(fd, to, size));
  if (result == 0) {  // at once: it has datagrams
    set_tells_of_nobody(fd, true);
  }
  return result == would_block ? in_progress : result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result connection_state(handle fd) noexcept {
  const io_result pending = get_option(fd, SOL_SOCKET, SO_ERROR);
  if (pending != 0) {
    return pending > 0 ? -pending : pending;
  }
  ::sockaddr_storage peer{};
  ::socklen_t size = sizeof peer;
  const io_result named = socket_name(fd, true, reinterpret_cast<::sockaddr*>(&peer), size);
  if (named != not_connected) {
    return 0;
  }
  // Not yet, or no more: a peer may have taken it and reset it at once, which no error tells.
  ::WSAPOLLFD one{fd, POLLWRNORM, 0};
  return ::WSAPoll(&one, 1, 0) > 0 && one.revents != 0 ? io_result{-WSAECONNRESET}
                                                       : io_result{in_progress};
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result bind(handle fd, const ::sockaddr* to,
                                                ::socklen_t size) noexcept {
  return socket_result(::bind(fd, to, size));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result listen(handle fd, int backlog) noexcept {
  return socket_result(::listen(fd, backlog));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result accept(handle fd) noexcept {
  const io_result accepted = prepared(::accept(fd, nullptr, nullptr));
  if (accepted >= 0) {
    ::SetHandleInformation(reinterpret_cast<::HANDLE>(accepted), HANDLE_FLAG_INHERIT, 0);
  }
  return accepted;
}

THRUM_OUT_OF_LINE bool gone_while_queued(io_result accepted) noexcept {
  for (const int error : {WSAECONNRESET, WSAECONNABORTED, WSAENETDOWN, WSAENETRESET, WSAEHOSTDOWN,
                          WSAEHOSTUNREACH, WSAENETUNREACH}) {
    if (accepted == -error) {
      return true;
    }
  }
  return false;
}

/// A direction that was shut down here has ended.
inline io_result receive_with(handle fd, void* to, std::size_t n, int flags) noexcept {
  const io_result result = socket_result(::recv(fd, static_cast<char*>(to), at_most_int(n), flags));
  return result == -WSAESHUTDOWN ? 0 : result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result receive(handle fd, void* to, std::size_t n) noexcept {
  return receive_with(fd, to, n, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result peek(handle fd, void* to, std::size_t n) noexcept {
  return receive_with(fd, to, n, MSG_PEEK);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send(handle fd, const void* from,
                                                std::size_t n) noexcept {
  return socket_result(::send(fd, static_cast<const char*>(from), at_most_int(n), 0));
}

/// What may send and receive messages.
struct message_calls {
  static io_result send(handle fd, const message& one) noexcept {
    ::DWORD sent = 0;
    const int returned = ::WSASendTo(fd, one.pieces_, one.count_, &sent, 0, one.name_,
                                     one.name_size_, nullptr, nullptr);
    return returned == 0 ? io_result{sent} : socket_result(returned);
  }

  /// A datagram, for which the socket may have a peer.
  static io_result send_datagram(handle fd, const message& one) noexcept {
    const io_result result = send(fd, one);
    const bool has_none = result == not_connected || result == -WSAEINVAL;
    return has_none && one.name_ == nullptr ? io_result{no_address} : result;
  }

  static io_result receive(handle fd, message& one) noexcept {
    ::DWORD received = 0;
    ::DWORD flags = 0;
    const int returned =
        ::WSARecvFrom(fd, one.pieces_, one.count_, &received, &flags, one.name_,
                      one.name_ != nullptr ? &one.name_size_ : nullptr, nullptr, nullptr);
    const io_result result = returned == 0 ? io_result{received} : socket_result(returned);
    one.cut_off_ = result == -WSAEMSGSIZE;
    one.size_ = 0;
    if (one.cut_off_) {  // all pieces are full
      for (::DWORD i = 0; i != one.count_; ++i) {
        one.size_ += one.pieces_[i].len;
      }
      return static_cast<io_result>(one.size_) + 1;
    }
    one.size_ = result > 0 ? static_cast<std::size_t>(result) : 0;
    // No socket was there for a datagram that this one sent.
    return result == -WSAECONNRESET ? io_result{-WSAECONNREFUSED} : result;
  }
};

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_message(handle fd, const message& one) noexcept {
  return message_calls::send(fd, one);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result receive_from(handle fd, void* to, std::size_t n,
                                                        ::sockaddr* from,
                                                        ::socklen_t* from_size) noexcept {
  piece whole = piece_of(to, n);
  message one;
  one.set_pieces(&whole, 1);
  if (from != nullptr) {
    one.set_name(from, *from_size);
  }
  const io_result result = message_calls::receive(fd, one);
  if (from != nullptr) {
    *from_size = one.name_size();
  }
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_to(handle fd, const void* from, std::size_t n,
                                                   const ::sockaddr* to,
                                                   ::socklen_t to_size) noexcept {
  piece whole = piece_of(from, n);
  message one;
  one.set_pieces(&whole, 1);
  one.set_name(to, to_size);
  return message_calls::send_datagram(fd, one);
}

/// Calls one(message) for each until that fails. How many it did, or why it did not do the first.
template <class One>
io_result for_messages(message* first, unsigned n, One one) noexcept {
  for (unsigned i = 0; i != n; ++i) {
    if (const io_result result = one(first[i]); result < 0) {
      return i != 0 ? io_result{i} : result;
    }
  }
  return n;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_messages(handle fd, message* first,
                                                         unsigned n) noexcept {
  return for_messages(first, n,
                      [&](message& one) { return message_calls::send_datagram(fd, one); });
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result receive_messages(handle fd, message* first,
                                                            unsigned n) noexcept {
  return for_messages(first, n, [&](message& one) { return message_calls::receive(fd, one); });
}

THRUM_OUT_OF_LINE io_result send_file(handle /*fd*/, handle /*file*/, std::int64_t /*offset*/,
                                      std::size_t /*n*/) noexcept {
  return not_supported;
}

THRUM_OUT_OF_LINE bool cannot_send_file(io_result sent) noexcept { return sent == not_supported; }

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result shut_down(handle fd, int what) noexcept {
  return socket_result(::shutdown(fd, what));
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
#endif  // THRUM_DETAIL_OS_WINDOWS_SOCKET_HPP
