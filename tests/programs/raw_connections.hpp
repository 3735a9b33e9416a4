// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Clients that know nothing of the library.
#ifndef THRUM_TESTS_PROGRAMS_RAW_CONNECTIONS_HPP
#define THRUM_TESTS_PROGRAMS_RAW_CONNECTIONS_HPP

#include "support/descriptors.hpp"

#include <thrum/net/endpoint.hpp>

#include <vector>

#include <sys/socket.h>

namespace programs {

/// Sockets whose connections are in the queue of `to`, made before descriptors run out.
inline std::vector<int> connect_raw(const thrum::net::endpoint& to, int n) {
  std::vector<int> sockets;
  for (int i = 0; i != n; ++i) {
    const int fd = support::open_socket(AF_INET, SOCK_STREAM, support::waits::yes);
    if (fd < 0 || ::connect(fd, to.data(), to.size()) != 0) {
      return {};
    }
    sockets.push_back(fd);
  }
  return sockets;
}

}  // namespace programs

#endif
