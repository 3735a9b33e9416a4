// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The yardstick of the network benchmarks: a server in one thread around epoll, written by hand,
// with nothing between the system calls and the work.
//
// A request costs one read, one write, and its share of an epoll_wait. Every descriptor is
// registered once, edge-triggered, for both directions:
// - A read that does not fill the buffer has emptied the socket: what comes later is a new edge, so
//   there is no second read to be told EAGAIN. The end of the stream has an edge of its own, and
//   EPOLLRDHUP says when it came together with data.
// - The edge of EPOLLOUT comes only after a write was refused. What is left then waits in the
//   connection, which reads nothing more before that is gone.
// One buffer serves all connections.
#ifndef THRUM_BENCH_NET_EPOLL_LOOP_HPP
#define THRUM_BENCH_NET_EPOLL_LOOP_HPP

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server_arguments.hpp"

namespace bench {

inline int checked(int result, const char* call) {
  if (result < 0) {
    std::perror(call);
    std::exit(1);
  }
  return result;
}

inline int listen_on_loopback(std::uint16_t port) {
  const int fd =
      checked(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
  const int on = 1;
  checked(::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "setsockopt");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  checked(::bind(fd, generic, size), "bind");
  checked(::listen(fd, 4096), "listen");
  checked(::getsockname(fd, generic, &size), "getsockname");
  say_listening(ntohs(address.sin_port));
  return fd;
}

/// Serves until it is killed. `Protocol` is the state of one connection; its
/// `std::string_view answer(std::string_view piece, std::string& room)` says what to write for a
/// piece of the stream, out of that piece, of `room`, or of constants.
template <class Protocol>
class epoll_loop {
 public:
  [[noreturn]] void serve(std::uint16_t port) {
    listener_ = listen_on_loopback(port);
    epoll_ = checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.ptr = nullptr;
    checked(::epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &interest), "epoll_ctl");
    std::array<epoll_event, 256> events;
    for (;;) {
      const int n = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      if (n < 0 && errno != EINTR) {
        checked(n, "epoll_wait");
      }
      for (int i = 0; i < n; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.ptr == nullptr) {
          accept_all();
        } else {
          advance(static_cast<connection*>(event.data.ptr), event.events);
        }
      }
    }
  }

 private:
  struct connection {
    int fd;
    Protocol protocol;
    std::string unwritten;
  };

  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) {
        if (errno != EAGAIN && errno != ECONNABORTED) {
          checked(fd, "accept4");
        }
        return;
      }
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      epoll_event interest{};
      interest.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
      interest.data.ptr = new connection{fd, {}, {}};
      checked(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &interest), "epoll_ctl");
    }
  }

  /// A connection is in at most one event of a round, so it can be deleted at once.
  void advance(connection* c, std::uint32_t events) {
    bool ends = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if (!c->unwritten.empty()) {
      std::string rest;
      rest.swap(c->unwritten);
      if (!write(c, rest)) {
        return;
      }
      // The end may have had its edge while this connection did not read.
      ends = true;
    } else if ((events & ~std::uint32_t{EPOLLOUT}) == 0) {
      return;
    }
    for (;;) {
      const ssize_t n = ::read(c->fd, buffer_.data(), buffer_.size());
      if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
          close(c);
        }
        return;
      }
      const auto size = static_cast<std::size_t>(n);
      const std::string_view answer = c->protocol.answer({buffer_.data(), size}, room_);
      if (!answer.empty() && !write(c, answer)) {
        return;
      }
      if (size != buffer_.size() && !ends) {
        return;
      }
    }
  }

  /// False: not all could be written, the rest waits in the connection, or there is none any more.
  bool write(connection* c, std::string_view bytes) {
    for (;;) {
      const ssize_t n = ::write(c->fd, bytes.data(), bytes.size());
      if (n == static_cast<ssize_t>(bytes.size())) {
        return true;
      }
      if (n >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN) {
        c->unwritten = bytes;
        return false;
      } else if (errno != EINTR) {
        close(c);
        return false;
      }
    }
  }

  static void close(connection* c) {
    ::close(c->fd);
    delete c;
  }

  int listener_ = -1;
  int epoll_ = -1;
  std::string room_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{64} * 1024);
};

}  // namespace bench

#endif
