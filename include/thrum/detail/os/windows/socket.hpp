// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets on Windows: the calls of Winsock, with results as in result.hpp. Each new socket does not
// block, can be waited for by a completion port, and is inherited by no child process. Their options and addresses are in socket_options.hpp.
#ifndef THRUM_DETAIL_OS_WINDOWS_SOCKET_HPP
#define THRUM_DETAIL_OS_WINDOWS_SOCKET_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>
#include <thrum/detail/os/socket_types.hpp>            // IWYU pragma: export
#include <thrum/detail/os/windows/socket_options.hpp>  // IWYU pragma: export

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

/// After getaddrinfo() has returned that: what it returns says all.
inline io_result resolver_cause(int /*returned*/) noexcept { return 0; }

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/os/windows/api.hpp>

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

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_SOCKET_HPP
