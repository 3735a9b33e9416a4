// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// udp_socket: datagrams, UDP or Unix.
//
// A datagram comes whole or, if the buffer is too small, cut off; each read takes exactly one. One
// of 0 bytes is a datagram, too: a result of 0 is not an end.
#ifndef THRUM_NET_UDP_SOCKET_HPP
#define THRUM_NET_UDP_SOCKET_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/stop_condition.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// How a datagram socket is bound. What the system refuses fails bind().
struct udp_options {
  bool reuse_address = false;  ///< others may bind to it too: each member of a group wants it
  bool reuse_port = false;     ///< the system divides what comes between several sockets
};

/// The number of a network interface of this machine by its name; 0: there is none.
THRUM_OUT_OF_LINE unsigned interface_number(const std::string& name) noexcept;

/// Move-only. Sending, receiving, closing and moving deadlines may be done from several goroutines
/// and threads at the same time. Sending and receiving are cancellation points.
class udp_socket {
 public:
  /// What was received.
  struct datagram {
    std::size_t size;  ///< of what is in the buffer
    endpoint from;     ///< the sender; none if it is a Unix socket without name
    bool cut_off;      ///< the buffer was too small
  };

  /// One of several to send.
  struct outgoing {
    std::span<const std::byte> bytes;  ///< of one datagram
    endpoint to = {};                  ///< none: the endpoint that the socket is connected to
  };

  /// Room for one of several, and what came into it.
  struct incoming {
    std::span<std::byte> buffer;    ///< what does not fit into it is lost
    datagram result{0, {}, false};  ///< set for those that recv_many() counts
  };

  udp_socket() noexcept = default;

  // Each operation twice: one throws std::system_error with the addresses in its text, the other
  // sets an error_code.

  /// Receives what is sent to `where`; port 0: the system chooses one. Any IPv6 address is any IPv4
  /// one, too, and only that where the system has no IPv6. May broadcast.
  static udp_socket bind(const endpoint& where) { return or_throw(where, "bind", &os::bind); }
  static udp_socket bind(const endpoint& where, std::error_code& error);

  /// Sends to `where`, and receives from there only.
  static udp_socket connect(const endpoint& where);
  static udp_socket connect(const endpoint& where, std::error_code& error);

  /// bind with options.
  static udp_socket bind(const endpoint& where, const udp_options& how);
  static udp_socket bind(const endpoint& where, const udp_options& how, std::error_code& error);

  /// Takes over a datagram socket, as conn::adopt and conn::release.
  static udp_socket adopt(native_handle_type socket);
  static udp_socket adopt(native_handle_type socket, std::error_code& error);
  [[nodiscard]] native_handle_type release() noexcept { return socket_.release(); }

  /// Receives from now on what is sent to a group, an IPv4 or IPv6 multicast address of this socket's
  /// family with any port, on the network interface with that number (0: the system chooses); or no
  /// more.
  void join(const endpoint& group, unsigned link = 0);
  void join(const endpoint& group, unsigned link, std::error_code& error);
  void leave(const endpoint& group, unsigned link = 0);
  void leave(const endpoint& group, unsigned link, std::error_code& error);

  /// How it sends to groups: on which interface; how many routers far (1 by default: none); and whether
  /// members on this machine get it, too (they do by default; on Windows, the receiver decides).
  void multicast_interface(unsigned link);
  void multicast_interface(unsigned link, std::error_code& error);
  void multicast_hops(int hops);
  void multicast_hops(int hops, std::error_code& error);
  void multicast_loop(bool on);
  void multicast_loop(bool on, std::error_code& error);

#if THRUM_EXCEPTIONS
  /// bind(endpoint) and connect(endpoint) for the text of an endpoint.
  static udp_socket bind(std::string_view text) { return bind(endpoint(text)); }
  static udp_socket connect(std::string_view text) { return connect(endpoint(text)); }
#endif
  static udp_socket bind(std::string_view text, std::error_code& error);
  static udp_socket connect(std::string_view text, std::error_code& error);

  /// Sends to the endpoint that it is connected to. Returns the size. A datagram that the network
  /// cannot carry is an error; one that is lost on the way is not.
  std::size_t send(std::span<const std::byte> bytes);
  std::size_t send(std::string_view text);
  std::size_t send(std::span<const std::byte> bytes, std::error_code& error);
  std::size_t send(std::string_view text, std::error_code& error);

  /// As send(), to any endpoint of its family; needed where the socket is not connected.
  std::size_t send_to(std::span<const std::byte> bytes, const endpoint& to);
  std::size_t send_to(std::string_view text, const endpoint& to);
  std::size_t send_to(std::span<const std::byte> bytes, const endpoint& to, std::error_code& error);
  std::size_t send_to(std::string_view text, const endpoint& to, std::error_code& error);

  /// The next datagram; waits for it.
  datagram recv_from(std::span<std::byte> buffer);
  datagram recv_from(std::span<char> buffer);
  datagram recv_from(std::span<std::byte> buffer, std::error_code& error);
  datagram recv_from(std::span<char> buffer, std::error_code& error);

  /// The next datagram, as recv_from; returns only its size.
  std::size_t recv(std::span<std::byte> buffer);
  std::size_t recv(std::span<char> buffer);
  std::size_t recv(std::span<std::byte> buffer, std::error_code& error);
  std::size_t recv(std::span<char> buffer, std::error_code& error);

  /// Sends all, in their order, by few system calls. Returns how many; with an error_code less of
  /// them, and why the next one was not sent.
  std::size_t send_many(std::span<const outgoing> all);
  std::size_t send_many(std::span<const outgoing> all, std::error_code& error);

  /// Waits for the next one and takes those that are there with it, into the first buffers. Returns
  /// how many; 0 if there are no buffers.
  std::size_t recv_many(std::span<incoming> into);
  std::size_t recv_many(std::span<incoming> into, std::error_code& error);

  // These calls with a stop: std::errc::operation_canceled once it is requested, or the context is done;
  // `bytes`, `buffer` and `error` as there. They need <thrum/detail/start/stoppable.hpp>, which <thrum.hpp>
  // includes.

  /// send and send_to until a stop.
  template <class Bytes, until_condition Stop, std::same_as<std::error_code>... Error>
  std::size_t send(const Bytes& bytes, const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return send(bytes, code); };
    return io_detail::until_stopped(*this, "send", stop, call, error...);
  }
  template <class Bytes, until_condition Stop, std::same_as<std::error_code>... Error>
  std::size_t send_to(const Bytes& bytes, const endpoint& to, const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return send_to(bytes, to, code); };
    return io_detail::until_stopped(*this, "send_to", stop, call, error...);
  }
  /// recv_from and recv until a stop. What comes later is left to the next call.
  template <class Buffer, until_condition Stop, std::same_as<std::error_code>... Error>
  datagram recv_from(Buffer&& buffer, const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return recv_from(buffer, code); };
    return io_detail::until_stopped(*this, "recv_from", stop, call, error...);
  }
  template <class Buffer, until_condition Stop, std::same_as<std::error_code>... Error>
  std::size_t recv(Buffer&& buffer, const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return recv(buffer, code); };
    return io_detail::until_stopped(*this, "recv", stop, call, error...);
  }
  /// send_many until a stop; with `error`, the result says how many were sent before.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
  std::size_t send_many(std::span<const outgoing> all, const Stop& stop, Error&... error) {
    std::size_t done = 0;
    const auto call = [&](std::error_code& code) {
      return io_detail::count_or(send_all(all, done), code);
    };
    io_detail::until_stopped(*this, "send_many", stop, call, error...);
    return done;
  }
  /// recv_many until a stop.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
  std::size_t recv_many(std::span<incoming> into, const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return recv_many(into, code); };
    return io_detail::until_stopped(*this, "recv_many", stop, call, error...);
  }

  /// Sets the moment from which every operation of that direction fails with errc::deadline_exceeded, also
  /// one that waits, until it is moved. time_point::max(): never.
  void set_deadline(time_point when) noexcept;
  void set_read_deadline(time_point when) noexcept { set_deadline(io::side::read, when); }
  void set_write_deadline(time_point when) noexcept { set_deadline(io::side::write, when); }
  /// Ends whatever others do with it: that fails with errc::operation_canceled, as does what comes
  /// later. Returns when the socket is closed. Closing again does nothing.
  void close() noexcept;

  /// Its own endpoint, with the port that the system chose, and the one that it is connected to;
  /// none if it has none.
  endpoint local() const noexcept { return address(false); }
  endpoint remote() const noexcept { return address(true); }

  /// The system's number, -1 after close(). It stays the socket's: it must not be closed.
  native_handle_type native_handle() const noexcept { return socket_.native_handle(); }

  /// For on_readable and on_writable.
  const io::descriptor& waits_on() const noexcept { return socket_; }

  /// Whether it holds a socket, open or closed.
  explicit operator bool() const noexcept {
    return static_cast<bool>(socket_) || static_cast<bool>(other_);
  }

  /// Throws what the calls above throw. Programs have no need of it.
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const;

 private:
  static constexpr std::size_t at_once = 32;  // of many, in one system call; 7 KiB of stack

  void set_deadline(io::side which, time_point when) noexcept;
  endpoint address(bool peer) const noexcept;

  using attach_function = os::io_result (*)(os::handle, const ::sockaddr*, ::socklen_t) noexcept;

  static udp_socket make(const endpoint& where, attach_function attach, std::error_code& error,
                         const udp_options& how = {});

  /// Calls set(handle, whether the socket is an IPv6 one).
  template <class Set>
  void set_multicast(Set set, std::error_code& error);
  void set_membership(bool joins, const endpoint& group, unsigned link, std::error_code& error);

  static udp_socket or_throw(const endpoint& where, const char* operation, attach_function attach);

  os::io_result send_from(std::span<const std::byte> bytes, const endpoint* to);

  template <class Send>
  os::io_result run_sending(bool to_unix, Send send);

  os::io_result send_all(std::span<const outgoing> all, std::size_t& done);

  /// Those that are there; how many.
  static os::io_result take_some(os::handle fd, std::span<incoming> into) noexcept;

  os::io_result receive_all(std::span<incoming> into);

  os::io_result receive(std::span<std::byte> buffer, datagram* result);

  std::size_t finish(os::io_result result, const char* operation) const;
  io::descriptor socket_;
  base::owner<net_detail::other_datagrams> other_;  // in place of a socket of the system
};

}}}  // namespace thrum::THRUM_ABI::net

#if THRUM_BODIES
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/net/udp_calls.hpp>  // IWYU pragma: keep: bodies

#include <algorithm>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// When the queue of a Unix socket to which this one is not connected is full, this one counts
/// as writable all the same: no event tells of room there.
template <class Send>
os::io_result udp_socket::run_sending(bool to_unix, Send send) {
  return to_unix ? socket_.run_paced(io::side::write, send) : socket_.run(io::side::write, send);
}

THRUM_OUT_OF_LINE os::io_result udp_socket::send_from(std::span<const std::byte> bytes,
                                                      const endpoint* to) {
  if (other_) {
    return other_->send(bytes, to);
  }
  const ::sockaddr* const address = to != nullptr ? to->data() : nullptr;
  const ::socklen_t size = to != nullptr ? to->size() : 0;
  const auto send = [&](os::handle fd) {
    return os::send_to(fd, bytes.data(), bytes.size(), address, size);
  };
  return run_sending(to != nullptr && !net_detail::is_internet(*to), send);
}

THRUM_OUT_OF_LINE os::io_result udp_socket::receive(std::span<std::byte> buffer, datagram* result) {
  if (other_) {
    datagram found{0, {}, false};
    const os::io_result size = other_->receive(buffer, found.from);
    found.cut_off = size > static_cast<os::io_result>(buffer.size());
    if (result != nullptr) {
      *result = found;
    }
    return std::min(size, static_cast<os::io_result>(buffer.size()));
  }
  ::sockaddr_storage from;
  ::socklen_t from_size = 0;
  auto* const address = result != nullptr ? reinterpret_cast<::sockaddr*>(&from) : nullptr;
  const os::io_result n = socket_.run(io::side::read, [&](os::handle fd) {
    from_size = sizeof from;
    return os::receive_from(fd, buffer.data(), buffer.size(), address,
                            address != nullptr ? &from_size : nullptr);
  });
  const auto most = static_cast<os::io_result>(buffer.size());
  if (n >= 0 && result != nullptr) {
    result->from = endpoint::from_native(address, from_size);
    result->cut_off = n > most;
  }
  return std::min(n, most);
}

THRUM_OUT_OF_LINE std::size_t udp_socket::send(std::span<const std::byte> bytes) {
  return finish(send_from(bytes, nullptr), "udp_socket::send");
}

THRUM_OUT_OF_LINE std::size_t udp_socket::send(std::span<const std::byte> bytes,
                                               std::error_code& error) {
  return io_detail::count_or(send_from(bytes, nullptr), error);
}

THRUM_OUT_OF_LINE std::size_t udp_socket::send(std::string_view text) {
  return send(std::as_bytes(std::span(text)));
}

THRUM_OUT_OF_LINE std::size_t udp_socket::send(std::string_view text, std::error_code& error) {
  return send(std::as_bytes(std::span(text)), error);
}

THRUM_OUT_OF_LINE std::size_t udp_socket::send_to(std::span<const std::byte> bytes,
                                                  const endpoint& to) {
  return finish(send_from(bytes, &to), "udp_socket::send_to");
}

THRUM_OUT_OF_LINE std::size_t udp_socket::send_to(std::string_view text, const endpoint& to) {
  return send_to(std::as_bytes(std::span(text)), to);
}

THRUM_OUT_OF_LINE std::size_t udp_socket::send_to(std::span<const std::byte> bytes,
                                                  const endpoint& to, std::error_code& error) {
  return io_detail::count_or(send_from(bytes, &to), error);
}

THRUM_OUT_OF_LINE std::size_t udp_socket::send_to(std::string_view text, const endpoint& to,
                                                  std::error_code& error) {
  return send_to(std::as_bytes(std::span(text)), to, error);
}

THRUM_OUT_OF_LINE udp_socket::datagram udp_socket::recv_from(std::span<std::byte> buffer) {
  datagram result{0, {}, false};
  result.size = finish(receive(buffer, &result), "udp_socket::recv_from");
  return result;
}

THRUM_OUT_OF_LINE udp_socket::datagram udp_socket::recv_from(std::span<std::byte> buffer,
                                                             std::error_code& error) {
  datagram result{0, {}, false};
  result.size = io_detail::count_or(receive(buffer, &result), error);
  return result;
}

THRUM_OUT_OF_LINE udp_socket::datagram udp_socket::recv_from(std::span<char> buffer,
                                                             std::error_code& error) {
  return recv_from(std::as_writable_bytes(buffer), error);
}

THRUM_OUT_OF_LINE std::size_t udp_socket::recv(std::span<std::byte> buffer) {
  return finish(receive(buffer, nullptr), "udp_socket::recv");
}

THRUM_OUT_OF_LINE std::size_t udp_socket::recv(std::span<std::byte> buffer,
                                               std::error_code& error) {
  return io_detail::count_or(receive(buffer, nullptr), error);
}

THRUM_OUT_OF_LINE std::size_t udp_socket::recv(std::span<char> buffer, std::error_code& error) {
  return recv(std::as_writable_bytes(buffer), error);
}

THRUM_OUT_OF_LINE void udp_socket::set_deadline(time_point when) noexcept {
  set_read_deadline(when);
  set_write_deadline(when);
}

THRUM_OUT_OF_LINE void udp_socket::set_deadline(io::side which, time_point when) noexcept {
  if (other_) {
    other_->set_deadline(which, when);
  } else {
    socket_.set_deadline(which, when);
  }
}

THRUM_OUT_OF_LINE endpoint udp_socket::address(bool peer) const noexcept {
  return other_ ? other_->address(peer) : net_detail::address_of(socket_, peer);
}

THRUM_OUT_OF_LINE void udp_socket::close() noexcept {
  if (other_) {
    other_->close();
  } else {
    socket_.close();
  }
}

THRUM_OUT_OF_LINE unsigned interface_number(const std::string& name) noexcept {
  return os::interface_number(name.c_str());
}

THRUM_OUT_OF_LINE std::size_t udp_socket::finish(os::io_result result,
                                                 const char* operation) const {
  if (result < 0) {
    net_detail::throw_between(io_detail::error_of(result), operation, local(), remote());
  }
  return static_cast<std::size_t>(result);
}

THRUM_COLD THRUM_OUT_OF_LINE void udp_socket::fail(const std::error_code& error,
                                                   const char* operation) const {
  net_detail::throw_between(error, base::message<64>("udp_socket::").append(operation).view(),
                            local(), remote());
}

THRUM_OUT_OF_LINE udp_socket::datagram udp_socket::recv_from(std::span<char> buffer) {
  return recv_from(std::as_writable_bytes(buffer));
}

THRUM_OUT_OF_LINE std::size_t udp_socket::recv(std::span<char> buffer) {
  return recv(std::as_writable_bytes(buffer));
}

}}}  // namespace thrum::THRUM_ABI::net
#endif

#endif
