// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What is sent and received by one call: pieces of memory, and messages made of them.
#ifndef THRUM_DETAIL_OS_WINDOWS_MESSAGE_HPP
#define THRUM_DETAIL_OS_WINDOWS_MESSAGE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/socket_types.hpp>

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
#endif  // THRUM_DETAIL_OS_WINDOWS_MESSAGE_HPP
