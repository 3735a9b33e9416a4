// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A descriptor of which every poller has something to tell: a socket of datagrams, which can be written.
#ifndef THRUM_TESTS_SUPPORT_WRITABLE_SOCKET_HPP
#define THRUM_TESTS_SUPPORT_WRITABLE_SOCKET_HPP

#include <thrum.hpp>

#include <cstdint>

namespace support {

class writable_socket {
 public:
  writable_socket() {
    const thrum::os::io_result fresh = thrum::os::open_socket(AF_INET, SOCK_DGRAM, 0);
    ::sockaddr_in any{};
    any.sin_family = AF_INET;
    if (fresh >= 0) {
      fd_ = static_cast<thrum::os::handle>(fresh);
      is_open_ = thrum::os::bind(fd_, reinterpret_cast<const ::sockaddr*>(&any), sizeof any) == 0;
    }
  }
  ~writable_socket() {
    if (fd_ != thrum::os::no_handle) {
      thrum::os::close(fd_);
    }
  }
  writable_socket(const writable_socket&) = delete;
  writable_socket& operator=(const writable_socket&) = delete;

  bool is_open() const noexcept { return is_open_; }

  /// Whether the poller will tell, with this tag, that it can be written.
  template <class Poller>
  bool add_to(Poller& poller, std::uint64_t tag) const noexcept {
    if (poller.add(fd_, tag) != 0) {
      return false;
    }
    if constexpr (requires { poller.asks_each_time(); }) {
      if (poller.asks_each_time()) {
        poller.ask(fd_, tag, thrum::netpoll::writable, true);
      }
    }
    return true;
  }
  template <class Poller>
  void remove_from(Poller& poller) const noexcept {
    poller.remove(fd_);
  }

 private:
  thrum::os::handle fd_ = thrum::os::no_handle;
  bool is_open_ = false;
};

}  // namespace support

#endif
