// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#ifndef THRUM_TESTS_SUPPORT_NAMED_SOCKET_HPP
#define THRUM_TESTS_SUPPORT_NAMED_SOCKET_HPP

#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/socket_types.hpp>
#include <thrum/net/endpoint.hpp>

namespace support {

/// A stream socket, which is closed at the end of the scope.
class named_socket {
 public:
  explicit named_socket(int family) : opened_(thrum::os::open_socket(family, SOCK_STREAM, 0)) {}
  ~named_socket() {
    if (is_open()) {
      thrum::os::close(fd());
    }
  }
  named_socket(const named_socket&) = delete;
  named_socket& operator=(const named_socket&) = delete;
  bool is_open() const { return opened_ >= 0; }
  thrum::os::handle fd() const { return thrum::os::handle_of(opened_); }
  bool bind(const thrum::net::endpoint& to) const {
    return thrum::os::bind(fd(), to.data(), to.size()) == 0;
  }
  thrum::net::endpoint name() const {
    ::sockaddr_storage storage{};
    ::socklen_t size = sizeof storage;
    auto* const address = reinterpret_cast<::sockaddr*>(&storage);
    return thrum::os::socket_name(fd(), false, address, size) == 0
               ? thrum::net::endpoint::from_native(address, size)
               : thrum::net::endpoint();
  }

 private:
  thrum::os::io_result opened_;
};

}  // namespace support

#endif
