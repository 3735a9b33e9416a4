// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What is sent and received by one call: pieces of memory, and messages made of them.
//
// The floors above build messages without knowing how a system lays one out: elsewhere a piece has
// its length first, and the members of a message have other names and types.
#ifndef THRUM_DETAIL_OS_POSIX_MESSAGE_HPP
#define THRUM_DETAIL_OS_POSIX_MESSAGE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/os/socket_types.hpp>

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
#endif  // THRUM_DETAIL_OS_POSIX_MESSAGE_HPP
