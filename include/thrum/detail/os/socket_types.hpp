// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the system's headers for addresses and sockets: sockaddr and its kinds, addrinfo, the
// numbers of families and options, inet_pton. Apart from the rest of the layer, since an address
// needs no more of it. And what is sent and received by one call: pieces of memory, and messages made of
// them.
//
// The floors above build messages without knowing how a system lays one out: the length of a piece comes
// first on Windows, and the members of a message have other names and types.
#ifndef THRUM_DETAIL_OS_SOCKET_TYPES_HPP
#define THRUM_DETAIL_OS_SOCKET_TYPES_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX
#include <arpa/inet.h>   // IWYU pragma: export
#include <netdb.h>       // IWYU pragma: export
#include <netinet/in.h>  // IWYU pragma: export
#include <sys/socket.h>  // IWYU pragma: export
#include <sys/un.h>      // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/api.hpp>  // IWYU pragma: export
// The order matters.
#include <ws2tcpip.h>                       // IWYU pragma: export
// And here.
#include <afunix.h>                         // IWYU pragma: export
#endif

#if THRUM_OS_POSIX

#include <thrum/detail/base/convert.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Some bytes of a message.
using piece = ::iovec;

inline piece piece_of(const void* bytes, std::size_t n) noexcept {
  return {const_cast<void*>(bytes), n};  // the system's type; what is sent it does not write to
}

/// `Counted` is the system's message with its size, so that an array of these is one of those.
template <class Counted>
class basic_message {
 public:
  void set_pieces(piece* first, std::size_t n) noexcept {
    native_.msg_hdr.msg_iov = first;
    native_.msg_hdr.msg_iovlen = base::convert<decltype(native_.msg_hdr.msg_iovlen)>(n);
  }

  /// Where it goes to, or room for where it comes from.
  void set_name(const ::sockaddr* name, ::socklen_t size) noexcept {
    native_.msg_hdr.msg_name = const_cast<::sockaddr*>(name);  // the system's type, as above
    native_.msg_hdr.msg_namelen = size;
  }

  // After it was received.
  std::size_t size() const noexcept { return base::convert<std::size_t>(native_.msg_len); }
  ::socklen_t name_size() const noexcept { return native_.msg_hdr.msg_namelen; }
  bool was_cut_off() const noexcept { return (native_.msg_hdr.msg_flags & MSG_TRUNC) != 0; }

  const ::msghdr& header() const noexcept { return native_.msg_hdr; }

  /// The array that begins with it.
  static Counted* array(basic_message* first) noexcept {
    static_assert(sizeof(basic_message) == sizeof(Counted));
    return reinterpret_cast<Counted*>(first);
  }

 private:
  Counted native_{};
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_POSIX

#if THRUM_OS_WINDOWS

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Some bytes of a message: the system's, in which the length comes first and has 32 bits.
using piece = ::WSABUF;

inline piece piece_of(const void* bytes, std::size_t n) noexcept {
  constexpr std::size_t most = 0x7fff'ffff;  // a longer one is cut off, as send() may
  return {static_cast<::ULONG>(n < most ? n : most),
          static_cast<char*>(const_cast<void*>(bytes))};  // what is sent it does not write to
}

/// Pieces, and where they go to, or room for where they come from.
class message {
 public:
  void set_pieces(piece* first, std::size_t n) noexcept {
    pieces_ = first;
    count_ = static_cast<::DWORD>(n);
  }
  void set_name(const ::sockaddr* name, ::socklen_t size) noexcept {
    name_ = const_cast<::sockaddr*>(name);  // one that is sent to is not written to
    name_size_ = size;
  }

  // After it was received.
  std::size_t size() const noexcept { return size_; }
  ::socklen_t name_size() const noexcept { return name_size_; }
  bool was_cut_off() const noexcept { return cut_off_; }

 private:
  friend struct message_calls;

  piece* pieces_ = nullptr;
  ::DWORD count_ = 0;
  ::sockaddr* name_ = nullptr;
  int name_size_ = 0;
  std::size_t size_ = 0;
  bool cut_off_ = false;
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS

#endif  // THRUM_DETAIL_OS_SOCKET_TYPES_HPP
