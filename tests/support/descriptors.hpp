// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Pipes and sockets for tests, by the system's layer: no program that is started meanwhile inherits them, also
// where there is no pipe2 and no SOCK_CLOEXEC.
#ifndef THRUM_TESTS_SUPPORT_DESCRIPTORS_HPP
#define THRUM_TESTS_SUPPORT_DESCRIPTORS_HPP

#include <thrum/os/os.hpp>

#include <sys/socket.h>

namespace support {

enum class waits : bool { no, yes };

/// -1: there is none.
inline int open_socket(int family, int type, waits how) {
  const thrum::os::io_result made = thrum::os::open_socket(family, type, 0);
  if (made < 0) {
    return -1;
  }
  const int fd = thrum::os::handle_of(made);
  thrum::os::set_nonblocking(fd, how == waits::no);
  return fd;
}

/// False: there is none.
inline bool open_pipe(int (&ends)[2], waits how) {
  const bool made = thrum::os::open_pipe(ends) == 0;
  for (const int fd : ends) {
    if (made) {
      thrum::os::set_nonblocking(fd, how == waits::no);
    }
  }
  return made;
}

/// False: there is none.
inline bool open_socket_pair(int (&ends)[2], waits how) {
  const bool made = thrum::os::open_socket_pair(SOCK_STREAM, ends) == 0;
  for (const int fd : ends) {
    if (made) {
      thrum::os::set_nonblocking(fd, how == waits::no);
    }
  }
  return made;
}

}  // namespace support

#endif
