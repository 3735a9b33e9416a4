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

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/io/own_name.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/stop_condition.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <system_error>

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
  /// Connections, at most so many at a time, whose first data comes with the request for the
  /// connection (RFC 7413). 0: none.
  int fast_open = 0;
  /// close() removes the file of a Unix socket that listen() made, but not in a child process, and not a
  /// successor's file of this name.
  bool remove_path = true;
};

/// Move-only. Any number of goroutines and threads may accept, close and move the deadline at the
/// same time. accept is a cancellation point. Closes when destroyed.
class listener {
 public:
  listener() noexcept = default;
  listener(listener&& other) noexcept;
  listener& operator=(listener&& other) noexcept;
  ~listener() { close(); }

  /// Listens on an endpoint; port 0: the system chooses one, see local(). Any IPv6 address is any
  /// IPv4 one, too (see dual_stack), and only that where the system has no IPv6.
  static listener listen(const endpoint& where, const listen_options& how = {});
  static listener listen(const endpoint& where, const listen_options& how, std::error_code& error);

  /// Listens on the first endpoint of a text (see resolve) on which that is possible.
  static listener listen(std::string_view text, const listen_options& how = {});
  static listener listen(std::string_view text, const listen_options& how, std::error_code& error);

  /// Takes over a socket that listens already, as a service manager hands it to a program; makes it
  /// non-blocking. Its options stay, and what it is bound to is not removed by close().
  /// errc::operation_not_supported if it is of another kind; on failure it is closed.
  static listener adopt(native_handle_type socket);
  static listener adopt(native_handle_type socket, std::error_code& error);

  /// Gives the socket up without closing it: it listens on. For all calls on the listener it is closed, as
  /// by close(). The file of a Unix socket stays. No handle (-1) if it was closed already.
  [[nodiscard]] native_handle_type release() noexcept { return socket_.release(); }

  /// The next connection; waits for it.
  conn accept();
  conn accept(std::error_code& error);
  /// accept() until a stop: then std::errc::operation_canceled. The listener goes on, and what comes is
  /// left to the next call. Needs <thrum/detail/start/stoppable.hpp>, which <thrum.hpp> includes.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
  conn accept(const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return accept(code); };
    return io_detail::until_stopped(*this, "accept", stop, call, error...);
  }

  /// Sets the moment from which accept fails with errc::deadline_exceeded; time_point::max(): never.
  void set_deadline(time_point when) noexcept;

  /// The address, with the port that the system chose.
  endpoint local() const noexcept;

  /// A call of accept that waits fails with errc::operation_canceled, as does every later one.
  /// Connections that were not accepted are reset. Closing again does nothing.
  void close() noexcept;

  /// The system's number, -1 after close(). It stays the listener's: it must not be closed.
  native_handle_type native_handle() const noexcept { return socket_.native_handle(); }

  /// For on_readable and on_writable.
  const io::descriptor& waits_on() const noexcept { return socket_; }

  /// Whether it holds a socket, open or closed.
  explicit operator bool() const noexcept {
    return static_cast<bool>(socket_) || static_cast<bool>(other_);
  }

  /// Throws what accept throws. Programs have no need of it.
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const;

 private:
  friend class server;  // which waits for memory as patiently

  static constexpr std::int64_t first_pause_ns = 5'000'000;
  static constexpr std::int64_t longest_pause_ns = 100'000'000;

  os::io_result begin(const endpoint& where, const listen_options& how);

  io::descriptor socket_;
  base::owner<net_detail::other_listener> other_;  // in place of a socket of the system
  io_detail::own_name name_;  // to be removed, if not by a child process: its parent still listens
  bool is_tcp_ = false;
};

}}}  // namespace thrum::THRUM_ABI::net

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/os/socket_types.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/net/resolve.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE listener::listener(listener&& other) noexcept
    : socket_(std::move(other.socket_)),
      other_(std::move(other.other_)),
      name_(std::move(other.name_)),
      is_tcp_(other.is_tcp_) {}

THRUM_OUT_OF_LINE listener& listener::operator=(listener&& other) noexcept {
  if (this != &other) {
    close();
    socket_ = std::move(other.socket_);
    other_ = std::move(other.other_);
    name_ = std::move(other.name_);
    is_tcp_ = other.is_tcp_;
  }
  return *this;
}

THRUM_OUT_OF_LINE listener listener::listen(const endpoint& where, const listen_options& how) {
  std::error_code error;
  listener result = listen(where, how, error);
  if (error) {
    net_detail::throw_endpoint(error, "listener::listen", where);
  }
  return result;
}

THRUM_OUT_OF_LINE listener listener::listen(const endpoint& where, const listen_options& how,
                                            std::error_code& error) {
  listener result;
  if (net_detail::network* const other = net_detail::network_of_caller()) {
    os::io_result made = 0;
    result.other_ = other->listen(where, how.backlog, made);
    io_detail::count_or(made, error);
    return result;
  }
  result.socket_ = net_detail::open_socket(where, SOCK_STREAM, error);
  if (error) {
    const auto instead = net_detail::without_ipv6(where, error);
    return instead && how.dual_stack ? listen(*instead, how, error) : listener();
  }
  const os::io_result done = result.begin(where, how);
  if (done < 0) {
    error = io_detail::error_of(done);
    return listener();
  }
  return result;
}

THRUM_OUT_OF_LINE listener listener::listen(std::string_view text, const listen_options& how) {
  std::error_code error;
  listener result = listen(text, how, error);
  if (error) {
    base::throw_system(error, base::message<>("listener::listen ").append_quoted(text).view());
  }
  return result;
}

THRUM_OUT_OF_LINE listener listener::listen(std::string_view text, const listen_options& how,
                                            std::error_code& error) {
  for (const endpoint& where : resolve(text, error)) {
    listener result = listen(where, how, error);
    if (!error) {
      return result;
    }
  }
  return listener();
}

THRUM_OUT_OF_LINE listener listener::adopt(native_handle_type socket) {
  std::error_code error;
  listener result = adopt(socket, error);
  if (error) {
    base::throw_system(error, "listener::adopt");
  }
  return result;
}

THRUM_OUT_OF_LINE listener listener::adopt(native_handle_type socket, std::error_code& error) {
  listener result;
  result.socket_ = net_detail::adopt_socket(socket, SOCK_STREAM, error);
  if (error) {
    return listener();
  }
  if (os::get_option(socket, SOL_SOCKET, SO_ACCEPTCONN) == 0) {
    error = os::error_code_of(os::not_supported);
    return listener();
  }
  result.is_tcp_ = net_detail::is_internet(result.local());
  return result;
}

THRUM_OUT_OF_LINE conn listener::accept() {
  std::error_code error;
  conn result = accept(error);
  if (error) {
    fail(error, "accept");
  }
  return result;
}

THRUM_COLD THRUM_OUT_OF_LINE void listener::fail(const std::error_code& error,
                                                 const char* operation) const {
  net_detail::throw_between(error, base::message<64>("listener::").append(operation).view(),
                            local(), {});
}

THRUM_OUT_OF_LINE conn listener::accept(std::error_code& error) {
  if (other_) {
    os::io_result result = 0;
    base::owner<net_detail::other_stream> accepted = other_->accept(result);
    io_detail::count_or(result, error);
    return error ? conn() : conn(std::move(accepted));
  }
  for (std::int64_t pause = first_pause_ns;;) {
    const os::io_result fd =
        socket_.run(io::side::read, [](os::handle own) { return os::accept(own); });
    if (fd >= 0) {
      io::descriptor accepted(os::handle_of(fd), error);
      return error ? conn() : conn(std::move(accepted), is_tcp_);
    }
    if (os::out_of_handles(fd)) {
      const sched::io_deadline until(sched::traits::now() + pause);
      sched::exit_if_cancelled(sched::sleep_until(until.until()));
      if (until.is_stopped()) {
        error = io_detail::error_of(os::cancelled);
        return conn();
      }
      pause = std::min(2 * pause, longest_pause_ns);
    } else if (!os::gone_while_queued(fd)) {
      error = io_detail::error_of(fd);
      return conn();
    }
  }
}

THRUM_OUT_OF_LINE void listener::set_deadline(time_point when) noexcept {
  if (other_) {
    other_->set_deadline(io::side::read, when);
  } else {
    socket_.set_deadline(io::side::read, when);
  }
}

THRUM_OUT_OF_LINE endpoint listener::local() const noexcept {
  return other_ ? other_->address(false) : net_detail::address_of(socket_, false);
}

THRUM_OUT_OF_LINE void listener::close() noexcept {
  if (other_) {
    other_->close();
  }
  // Before the socket: once no socket answers, a successor makes a file of its own.
  socket_.close([this] { name_.remove_file(); });
}

THRUM_OUT_OF_LINE os::io_result listener::begin(const endpoint& where, const listen_options& how) {
  const os::handle fd = socket_.native_handle();
  is_tcp_ = net_detail::is_internet(where);
  os::io_result done = 0;
  const auto must = [&](os::io_result result) { done = done < 0 ? done : result; };
  if (where.family() == address_family::v6) {
    const os::io_result result =
        os::set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, how.dual_stack ? 0 : 1);
    must(how.dual_stack ? 0 : result);
  }
  if (is_tcp_) {
    if (how.reuse_address) {
      os::reuse_address(fd);
    }
    if (how.reuse_port) {
      must(os::reuse_port(fd));
    }
    // Connections inherit these.
    if (how.no_delay) {
      os::set_no_delay(fd, true);
    }
    const os::io_result result = net_detail::set_keep_alive(fd, how.keep_alive);
    must(how.keep_alive == keep_alive_options{} ? 0 : result);
  }
  if (done >= 0) {
    done = os::bind(fd, where.data(), where.size());
  }
  if (done >= 0 && how.remove_path && !where.is_abstract() && !where.path().empty()) {
    name_.set(std::string(where.path()));
  }
  if (done >= 0) {
    done = os::listen(fd, how.backlog);
  }
  if (done >= 0 && how.fast_open != 0) {
    done = is_tcp_ ? os::set_fast_open(fd, how.fast_open) : os::not_supported;
  }
  return done;
}

}}}  // namespace thrum::THRUM_ABI::net
#endif

#endif
