// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Descriptors of the system as tests use them beside the library: a pair of sockets, whether one is
// open, how many are.
#ifndef THRUM_TESTS_SUPPORT_DESCRIPTORS_HPP
#define THRUM_TESTS_SUPPORT_DESCRIPTORS_HPP

#include <thrum.hpp>

#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <system_error>

#if defined(_WIN32)
#include "support/windows_descriptors.hpp"
#else
#include "support/local_name.hpp"

#include <cerrno>

#include <fcntl.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace support {

/// Whether the number stands for anything.
inline bool is_open(thrum::os::handle fd) { return ::fcntl(fd, F_GETFD) >= 0; }

/// Whether it stands for a socket, where other threads take numbers for other things.
inline bool is_open_socket(thrum::os::handle fd) { return is_open(fd); }

/// A number that no descriptor has; so high that none gets it.
inline int number_of_nothing() {
  const int number = ::fcntl(0, F_DUPFD, 700);
  ::close(number);
  return number;
}

/// Whether a program that is started has it, too.
inline bool is_inherited(thrum::os::handle fd) { return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0; }

/// As many as the system allows at all, from now on; how many that is.
inline std::size_t allow_descriptors() {
  ::rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::size_t>(limit.rlim_cur);
}

/// Two connected sockets, a stream, in non-blocking mode: Unix sockets, where there are pairs of those.
inline bool open_pair(thrum::os::handle (&ends)[2]) {
  return thrum::os::open_socket_pair(SOCK_STREAM, ends) == 0;
}

/// The system's own number of an answer that does not come.
inline constexpr int timed_out_number = ETIMEDOUT;

/// What a resolver returns that the system has failed, and the error that this is.
inline int fail_to_resolve() {
  errno = EMFILE;
  return EAI_SYSTEM;
}
inline constexpr std::errc failure_to_resolve = std::errc::too_many_files_open;

/// Where datagrams are received that are there when the sending has returned.
inline thrum::net::endpoint datagram_place() { return unused_local_name(); }

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
#endif  // _WIN32

namespace support {

/// Two connected sockets that do not block, which somebody else closes.
struct stream_pair {
  stream_pair() {
    if (!open_pair(ends)) {
      throw std::runtime_error("no pair of sockets");
    }
  }

  thrum::os::handle ends[2] = {thrum::os::no_handle, thrum::os::no_handle};
};

/// Two connected sockets as of a foreign library: in blocking mode, known by their numbers only.
struct foreign_pair : stream_pair {
  foreign_pair() {
    for (const thrum::os::handle end : ends) {
      thrum::os::set_nonblocking(end, false);
    }
  }
  ~foreign_pair() {
    thrum::os::close(ends[0]);
    thrum::os::close(ends[1]);
  }
  foreign_pair(const foreign_pair&) = delete;
  foreign_pair& operator=(const foreign_pair&) = delete;
};

/// Writes to a descriptor; whether it took everything.
inline bool put(thrum::os::handle to, std::string_view text) {
  return thrum::os::write(to, text.data(), text.size()) ==
         static_cast<thrum::os::io_result>(text.size());
}

}  // namespace support

#endif
