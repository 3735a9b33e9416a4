// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Two ends of something that waits, as others hand them over by their numbers: in blocking mode, if a
// goroutine can wait for such an object then.
#ifndef THRUM_TESTS_SUPPORT_HANDED_OVER_HPP
#define THRUM_TESTS_SUPPORT_HANDED_OVER_HPP

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/descriptors.hpp"

#if !defined(_WIN32)
#include <cstdlib>

#include <fcntl.h>
#endif

namespace support {

struct handed_over_ends {
  thrum::os::handle in = thrum::os::no_handle;
  thrum::os::handle out = thrum::os::no_handle;
  bool is_terminal = false;  ///< `in` is the terminal, and what is written there `out` reads
};

inline handed_over_ends hand_over_sockets() {
  const stream_pair pair;
  for (const thrum::os::handle end : pair.ends) {
    thrum::os::set_nonblocking(end, false);
  }
  return {pair.ends[0], pair.ends[1], false};
}

/// On Windows those of ours never block, and of others nobody can wait for.
inline handed_over_ends hand_over_pipe() {
  thrum::os::handle ends[2];
  REQUIRE(thrum::os::open_pipe(ends) == 0);
#if !defined(_WIN32)
  for (const thrum::os::handle end : ends) {
    thrum::os::set_nonblocking(end, false);
  }
#endif
  return {ends[0], ends[1], false};
}

#if defined(_WIN32)

inline constexpr handed_over_ends (*ways_to_hand_over[])() = {&hand_over_pipe, &hand_over_sockets};

/// Nobody says.
inline bool is_as_handed_over(thrum::os::handle) { return true; }

#else

inline handed_over_ends hand_over_terminal() {
  const int out = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(out >= 0);
  REQUIRE(::grantpt(out) == 0);
  REQUIRE(::unlockpt(out) == 0);
  const int in = ::open(::ptsname(out), O_RDWR | O_NOCTTY);
  REQUIRE(in >= 0);
  return {in, out, true};
}

inline constexpr handed_over_ends (*ways_to_hand_over[])() = {&hand_over_pipe, &hand_over_terminal,
                                                              &hand_over_sockets};

/// Whether its mode is that still.
inline bool is_as_handed_over(thrum::os::handle fd) {
  return (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
}

#endif

}  // namespace support

#endif
