// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What echo_load sends and receives with: the socket itself.
#ifndef THRUM_BENCH_NET_PLAIN_WIRE_HPP
#define THRUM_BENCH_NET_PLAIN_WIRE_HPP

#include <cstddef>

#include <sys/socket.h>
#include <sys/types.h>

class wire {
 public:
  /// Takes over a connected socket.
  void begin(int fd) { fd_ = fd; }
  /// As send(): how much of it could be sent at once.
  ssize_t send(const char* from, std::size_t n) { return ::send(fd_, from, n, MSG_NOSIGNAL); }
  /// As recv(), which does not wait.
  ssize_t receive(char* to, std::size_t n) { return ::recv(fd_, to, n, MSG_DONTWAIT); }

 private:
  int fd_ = -1;
};

#endif
