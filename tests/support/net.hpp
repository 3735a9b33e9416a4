// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What tests of the network need again and again: two connected ends, a listener that answers no
// client, and the error of a call.
#ifndef THRUM_TESTS_SUPPORT_NET_HPP
#define THRUM_TESTS_SUPPORT_NET_HPP

#include "support/descriptors.hpp"
#include "support/error_of.hpp"
#include "support/named_socket.hpp"
#include "support/process.hpp"

#include <thrum.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace support {

using steady = std::chrono::steady_clock;

/// Any port of this machine alone.
inline thrum::net::endpoint loopback() { return thrum::net::endpoint("127.0.0.1:0"); }

/// An address of the loopback that no other process of this machine uses, where there are such. A port
/// there that was given back is free: nobody else is given it.
inline thrum::net::endpoint own_loopback(std::uint16_t port = 0) {
#if defined(__linux__)
  const auto number = static_cast<std::uint32_t>(::getpid());
  return thrum::net::endpoint::v4(0x7f400000U + (number & 0x3fffffU), port);  // 127.64.0.0/10
#else
  return thrum::net::endpoint::v4(0x7f000001U, port);
#endif
}

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
/// switched off does. Its constructor blocks the thread for a third of a second.
class black_hole {
 public:
  black_hole() : listener_(thrum::net::listener::listen(loopback(), {.backlog = 0})) {
    // A connection is asked for before the wait begins: the queue is full if no answer has come then.
    for (int unanswered = 0; unanswered != 3;) {
      constexpr int wait_ms = 100;
      auto asking = std::make_unique<named_socket>(AF_INET);
      const thrum::net::endpoint to = listener_.local();
      const thrum::os::io_result asked = thrum::os::connect(asking->fd(), to.data(), to.size());
      const bool is_answered =
          asked == 0 || (asked == thrum::os::in_progress &&
                         thrum::os::wait_for(asking->fd(), true, wait_ms) == 1 &&
                         thrum::os::connection_state(asking->fd()) == 0);
      unanswered = is_answered ? 0 : unanswered + 1;
      if (is_answered) {
        queued_.push_back(std::move(asking));
      }
    }
  }
  thrum::net::endpoint where() const { return listener_.local(); }

  /// The listener: accept() takes the queued connections.
  thrum::net::listener& listener() { return listener_; }

 private:
  thrum::net::listener listener_;
  std::vector<std::unique_ptr<named_socket>> queued_;
};

/// A port of the loopback on which nobody listens, for as long as this lives: a socket has it that only
/// is bound, so that the system gives it to nobody else.
class closed_port {
 public:
  closed_port() : holder_(AF_INET) {
    if (!holder_.bind(loopback())) {
      throw std::runtime_error("closed_port: no port of the loopback is free");
    }
  }
  thrum::net::endpoint where() const { return holder_.name(); }

 private:
  named_socket holder_;
};

}  // namespace support

#endif
