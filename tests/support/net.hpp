// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What tests of the network need again and again: two connected ends, a listener that answers no
// client, and the error of a call.
#ifndef THRUM_TESTS_SUPPORT_NET_HPP
#define THRUM_TESTS_SUPPORT_NET_HPP

#include "support/descriptors.hpp"
#include "support/error_of.hpp"
#include "support/process.hpp"

#include <thrum.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace support {

using steady = std::chrono::steady_clock;

/// Any port of this machine alone.
inline thrum::net::endpoint loopback() { return thrum::net::endpoint("127.0.0.1:0"); }

/// Whether ::1 can be listened on here.
inline bool has_ipv6() {
  std::error_code error;
  thrum::net::listener::listen(thrum::net::endpoint("[::1]:0"), {}, error);
  return !error;
}

struct conn_pair {
  thrum::net::conn client;
  thrum::net::conn server;
};

/// Two ends of one TCP connection.
inline conn_pair tcp_pair(const thrum::net::endpoint& where = loopback()) {
  auto listener = thrum::net::listener::listen(where);
  auto client = thrum::net::dial(listener.local());
  return {std::move(client), listener.accept()};
}

/// Two ends of a pair of sockets: Unix sockets, where there are pairs of those.
inline conn_pair local_pair() {
  const stream_pair pair;
  return {thrum::net::conn(thrum::io::descriptor(pair.ends[0], "local_pair")),
          thrum::net::conn(thrum::io::descriptor(pair.ends[1], "local_pair"))};
}

inline bool is_timeout(const std::error_code& error) { return error == std::errc::timed_out; }
inline bool is_cancelled(const std::error_code& error) {
  return error == std::errc::operation_canceled;
}

/// Writes until neither end takes any more: the next write waits.
inline void fill(thrum::net::conn& to) {
  const std::string block(std::size_t{64} * 1024, 'x');
  // A deadline may have passed before its write begins, and a late acknowledgement makes room.
  for (int full = 0; full != 3;) {
    std::error_code error;
    to.set_write_deadline(steady::now() + std::chrono::milliseconds(30));
    const std::size_t written = to.write(block, error);
    to.set_write_deadline(thrum::time_point::max());
    full = written != 0 || to.try_write(block) ? 0 : full + 1;
  }
}

/// A listener whose queue is full: the system ignores new connections, as a machine that is
/// switched off does. From a goroutine or thread that may wait.
class black_hole {
 public:
  black_hole() : listener_(thrum::net::listener::listen(loopback(), {.backlog = 0})) {
    // The time of one that fails may have passed before it began.
    for (int failed = 0; failed != 3;) {
      std::error_code error;
      thrum::net::conn made =
          thrum::net::dial(listener_.local(), std::chrono::milliseconds(100), error);
      ++failed;
      if (!error) {
        failed = 0;
        queued_.push_back(std::move(made));
      }
    }
  }
  thrum::net::endpoint where() const { return listener_.local(); }

  /// The listener: accept() takes the queued connections.
  thrum::net::listener& listener() { return listener_; }

 private:
  thrum::net::listener listener_;
  std::vector<thrum::net::conn> queued_;
};

/// A port of the loopback on which nobody listens.
inline thrum::net::endpoint closed_port() {
  return thrum::net::listener::listen(loopback()).local();
}

}  // namespace support

#endif
