// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// listener: accepts connections, TCP or Unix.
//
// What accept() does not bother its caller with: a connection that was gone before it was accepted,
// and a process that is out of descriptors or memory. Then connections stay in the system's queue,
// and accept() looks again after 5 ms, 10 ms and so on up to 100 ms.
#ifndef THRUM_NET_LISTENER_HPP
#define THRUM_NET_LISTENER_HPP

#include <thrum/base/config.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/resolve.hpp>
#include <thrum/net/socket.hpp>
#include <thrum/sched/run/park.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// What the system refuses of it fails listen() where it differs from the default, and is done
/// without where it does not.
struct listen_options {
  int backlog = 4096;         ///< connections that may wait to be accepted; the system has a limit
  bool reuse_address = true;  ///< listen although connections of an earlier listener linger
  bool reuse_port = false;    ///< several listeners, also of other processes, share the port
  bool dual_stack = true;     ///< an IPv6 listener on any address takes IPv4 connections, too
  bool no_delay = true;       ///< of the connections: as conn::no_delay
  keep_alive_options keep_alive{};  ///< of the connections
  /// close() removes the file of a Unix socket that listen() made, but not in a child process.
  bool remove_path = true;
};

/// Move-only. Any number of goroutines and threads may accept, close and move the deadline at the
/// same time. accept is a cancellation point. Closes when destroyed.
class listener {
 public:
  listener() noexcept = default;
  listener(listener&& other) noexcept
      : socket_(std::move(other.socket_)),
        path_(std::exchange(other.path_, {})),
        path_maker_(other.path_maker_),
        is_tcp_(other.is_tcp_) {}
  listener& operator=(listener&& other) noexcept {
    if (this != &other) {
      close();
      socket_ = std::move(other.socket_);
      path_ = std::exchange(other.path_, {});
      path_maker_ = other.path_maker_;
      is_tcp_ = other.is_tcp_;
    }
    return *this;
  }
  ~listener() { close(); }

  /// Listens on an endpoint; port 0: the system chooses one, see local(). Any IPv6 address is any
  /// IPv4 one, too (see dual_stack), and only that where the system has no IPv6.
  static listener listen(const endpoint& where, const listen_options& how = {}) {
    std::error_code error;
    listener result = listen(where, how, error);
    if (error) {
      throw_endpoint(error, "listener::listen", where);
    }
    return result;
  }
  static listener listen(const endpoint& where, const listen_options& how, std::error_code& error) {
    listener result;
    result.socket_ = open_socket(where, SOCK_STREAM, error);
    if (error) {
      const auto instead = without_ipv6(where, error);
      return instead && how.dual_stack ? listen(*instead, how, error) : listener();
    }
    const os::io_result done = result.begin(where, how);
    if (done < 0) {
      error = io::error_of(done);
      return listener();
    }
    return result;
  }

  /// Listens on the first endpoint of a text (see resolve) on which that is possible.
  static listener listen(std::string_view text, const listen_options& how = {}) {
    std::error_code error;
    listener result = listen(text, how, error);
    if (error) {
      base::throw_system(error, base::message<>("listener::listen ").append_quoted(text).view());
    }
    return result;
  }
  static listener listen(std::string_view text, const listen_options& how, std::error_code& error) {
    for (const endpoint& where : resolve(text, error)) {
      listener result = listen(where, how, error);
      if (!error) {
        return result;
      }
    }
    return listener();
  }

  /// The next connection; waits for it.
  conn accept() {
    std::error_code error;
    conn result = accept(error);
    if (error) {
      throw_socket(error, "listener::accept", socket_);
    }
    return result;
  }
  conn accept(std::error_code& error) {
    for (std::int64_t pause = first_pause_ns;;) {
      const os::io_result fd = socket_.run(io::side::read, [](int own) { return os::accept(own); });
      if (fd >= 0) {
        io::descriptor accepted(static_cast<int>(fd), error);
        return error ? conn() : conn(std::move(accepted), is_tcp_);
      }
      if (is_shortage(fd)) {
        sched::exit_if_cancelled<sched::default_traits>(
            sched::sleep_until<sched::default_traits>(sched::default_traits::now() + pause));
        pause = std::min(2 * pause, longest_pause_ns);
      } else if (!is_gone(fd)) {
        error = io::error_of(fd);
        return conn();
      }
    }
  }

  /// From `when` on accept fails with errc::deadline_exceeded; time_point::max(): never.
  void set_deadline(time_point when) noexcept { socket_.set_deadline(io::side::read, when); }

  /// The address, with the port that the system chose.
  endpoint local() const noexcept { return address_of(socket_, false); }

  /// A call of accept that waits fails with errc::operation_canceled, as does every later one.
  /// Connections that were not accepted are reset. Closing again does nothing.
  void close() noexcept {
    // Before the socket: where nobody answers any more, a successor makes a file of its own.
    socket_.close([this] {
      if (!path_.empty() && path_maker_ == os::own_process()) {
        ::unlink(path_.c_str());
      }
    });
  }

  /// The system's number, -1 after close(). It stays the listener's: it must not be closed.
  native_handle_type native_handle() const noexcept { return socket_.native_handle(); }

  /// Whether it holds a socket, open or closed.
  explicit operator bool() const noexcept { return static_cast<bool>(socket_); }

 private:
  static constexpr std::int64_t first_pause_ns = 5'000'000;
  static constexpr std::int64_t longest_pause_ns = 100'000'000;

  static bool is_shortage(os::io_result result) noexcept {
    return result == -EMFILE || result == -ENFILE || result == -ENOBUFS || result == -ENOMEM;
  }
  /// accept(2): errors of the new connection that are to be treated like EAGAIN.
  static bool is_gone(os::io_result result) noexcept {
    for (const int error : {ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET,
                            EHOSTUNREACH, ENETUNREACH}) {
      if (result == -error) {
        return true;
      }
    }
    return false;
  }

  os::io_result begin(const endpoint& where, const listen_options& how) {
    const int fd = socket_.native_handle();
    is_tcp_ = is_internet(where);
    os::io_result done = 0;
    const auto must = [&](os::io_result result) { done = done < 0 ? done : result; };
    if (where.family() == address_family::v6) {
      const os::io_result result =
          os::set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, how.dual_stack ? 0 : 1);
      must(how.dual_stack ? 0 : result);
    }
    if (is_tcp_) {
      if (how.reuse_address) {
        os::set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
      }
      if (how.reuse_port) {
        must(os::set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1));
      }
      // Connections inherit these.
      if (how.no_delay) {
        os::set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
      }
      const os::io_result result = set_keep_alive(fd, how.keep_alive);
      must(how.keep_alive == keep_alive_options{} ? 0 : result);
    }
    if (done >= 0) {
      done = os::bind(fd, where.data(), where.size());
    }
    if (done >= 0 && how.remove_path && !where.is_abstract()) {
      path_ = where.path();
      path_maker_ = os::own_process();
    }
    return done < 0 ? done : os::listen(fd, how.backlog);
  }

  io::descriptor socket_;
  std::string path_;  // to be removed, if not by a child process: its parent still listens
  std::int64_t path_maker_ = 0;
  bool is_tcp_ = false;
};

}}}  // namespace thrum::THRUM_ABI::net

#endif
