// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A descriptor of which no poller has anything to tell: a socket that listens where nobody dials.
#ifndef THRUM_TESTS_SUPPORT_SILENT_SOCKET_HPP
#define THRUM_TESTS_SUPPORT_SILENT_SOCKET_HPP

#include <thrum.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/socket_types.hpp>

namespace support {

/// no_handle: the system has refused it. It is the caller's.
inline thrum::os::handle open_silent_socket() {
  namespace os = thrum::os;
  const os::io_result fresh = os::open_socket(AF_INET, SOCK_STREAM, 0);
  if (fresh < 0) {
    return os::no_handle;
  }
  const auto fd = static_cast<os::handle>(fresh);
  ::sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (os::bind(fd, reinterpret_cast<const ::sockaddr*>(&where), sizeof where) != 0 ||
      os::listen(fd, 1) != 0) {
    os::close(fd);
    return os::no_handle;
  }
  return fd;
}

}  // namespace support

#endif
