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
#include <thrum/base/owner.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/own_name.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/network.hpp>
#include <thrum/net/socket.hpp>
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

  /// Gives the socket up without closing it: it listens on. To whoever uses the listener it is closed.
  /// The file of a Unix socket stays. No handle (-1) if it was closed already.
  [[nodiscard]] native_handle_type release() noexcept { return socket_.release(); }

  /// The next connection; waits for it.
  conn accept();
  conn accept(std::error_code& error);
  /// The same until a stop: then std::errc::operation_canceled. The listener goes on, and what comes
  /// is left to the next call. To be included, if not by <thrum.hpp>: <thrum/stoppable.hpp>.
  template <stop_condition Stop, std::same_as<std::error_code>... Error>
  conn accept(const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return accept(code); };
    return io_detail::until_stopped(*this, "accept", stop, call, error...);
  }

  /// From `when` on accept fails with errc::deadline_exceeded; time_point::max(): never.
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

#if !THRUM_SEPARATE
#include <thrum/net/listener_definition.hpp>
#endif

#endif
