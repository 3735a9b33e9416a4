// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// network: what makes the sockets of a program in place of the system. testing::fake_net is one.
//
// dial, listener::listen, udp_socket and resolve ask once, when they begin, whether the caller lives in
// a bubble that has such a network. Its sockets stand in conn, listener and udp_socket beside a
// descriptor that is none: what finds no descriptor there, where it was about to fail, asks for them. So
// connections of the system do not pay for it.
//
// Results of calls are as the system's: counts, or errors below zero (os::cancelled after close(),
// sched::io_deadline_exceeded, ...).
#ifndef THRUM_DETAIL_NET_NETWORK_HPP
#define THRUM_DETAIL_NET_NETWORK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/net/endpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

/// What all sockets of such a network have.
class other_socket {
 public:
  other_socket() = default;
  other_socket(const other_socket&) = delete;
  other_socket& operator=(const other_socket&) = delete;
  virtual ~other_socket() = default;

  virtual void set_deadline(io::side which, time_point when) noexcept = 0;
  virtual void close() noexcept = 0;
  /// None after close(); of the other end: if there is one.
  virtual net::endpoint address(bool peer) const noexcept = 0;
};

/// One end of a connection.
class other_stream : public other_socket {
 public:
  /// At least 1 byte, 0 at the end.
  virtual os::io_result read(std::span<std::byte> to) = 0;
  /// 0 when all is written; moves `done`.
  virtual os::io_result write(std::span<const std::byte> from, std::size_t& done) = 0;
  /// The number of bytes for which there is room, or os::would_block.
  virtual os::io_result try_write(std::span<const std::byte> from) = 0;
  virtual os::io_result wait_readable() = 0;
  virtual bool is_readable() const noexcept = 0;
  virtual os::io_result shut_down(io::side which) noexcept = 0;
  /// What close() does with what is not sent yet: drops it and resets the connection.
  virtual void reset_at_close(bool on) noexcept = 0;
};

class other_listener : public other_socket {
 public:
  /// The next one; none, and `result` below zero.
  virtual base::owner<other_stream> accept(os::io_result& result) = 0;
};

class other_datagrams : public other_socket {
 public:
  /// `to` null: to the endpoint that it is connected to.
  virtual os::io_result send(std::span<const std::byte> bytes, const net::endpoint* to) = 0;
  /// The size that was sent, which may be more than the buffer's.
  virtual os::io_result receive(std::span<std::byte> to, net::endpoint& from) = 0;
  /// Whether receive() would not wait.
  virtual bool is_readable() noexcept = 0;
};

/// A connection that is being made. Another goroutine than that which began it may finish it, also when
/// the network is gone.
class other_dial {
 public:
  other_dial() = default;
  other_dial(const other_dial&) = delete;
  other_dial& operator=(const other_dial&) = delete;
  virtual ~other_dial() = default;

  /// Waits for it; none, and `result` below zero.
  virtual base::owner<other_stream> finish(time_point deadline, os::io_result& result) = 0;
  /// finish() fails with io_deadline_exceeded. Any goroutine.
  virtual void end() noexcept = 0;
};

class network {
 public:
  network() = default;
  network(const network&) = delete;
  network& operator=(const network&) = delete;

  /// Begins to connect, from the host that the caller is on. `local` may be none.
  virtual base::owner<other_dial> dial(const net::endpoint& where, const net::endpoint& local) = 0;
  virtual base::owner<other_listener> listen(const net::endpoint& where, int backlog,
                                             os::io_result& result) = 0;
  /// `connected`: `where` is the other end.
  virtual base::owner<other_datagrams> datagrams(const net::endpoint& where, bool connected,
                                                 os::io_result& result) = 0;
  /// The endpoints of a name, with `port` if the service was a number, else with that of `service`.
  virtual std::vector<net::endpoint> look_up(std::string_view host,
                                             std::optional<std::uint16_t> port,
                                             std::string_view service, std::error_code& error) = 0;

 protected:
  ~network() = default;
};

/// That in which the caller's sockets are made; null: the system.
THRUM_OUT_OF_LINE network* network_of_caller() noexcept;

/// Makes it that of the caller's bubble, or with null takes it away. False: the caller is in none, or
/// there is another one.
THRUM_OUT_OF_LINE bool set_network_of_caller(network* own) noexcept;

}}}  // namespace thrum::THRUM_ABI::net_detail

#if THRUM_BODIES
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>

#include <atomic>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

/// The caller's virtual clock; null if its time is the system's.
inline sched::virtual_clock* clock_of_caller() noexcept {
  const sched::machine* const m = sched::current_m();
  return m != nullptr && m->g != nullptr && m->scheduler->clock.is_virtual()
             ? &m->scheduler->clock.own()
             : nullptr;
}

THRUM_OUT_OF_LINE network* network_of_caller() noexcept {
  const sched::virtual_clock* const clock = clock_of_caller();
  return clock == nullptr ? nullptr
                          : static_cast<network*>(clock->network.load(
                                std::memory_order_acquire));  // [vn.set <] sees what it is made of
}

THRUM_OUT_OF_LINE bool set_network_of_caller(network* own) noexcept {
  sched::virtual_clock* const clock = clock_of_caller();
  if (clock == nullptr) {
    return false;
  }
  void* none = nullptr;
  if (own == nullptr) {
    clock->network.store(nullptr, std::memory_order_relaxed);  // relaxed: nothing to be seen
    return true;
  }
  // [vn.set >] publishes it; sees: network_of_caller. relaxed: another one is not looked at
  return clock->network.compare_exchange_strong(none, own, std::memory_order_release,
                                                std::memory_order_relaxed);
}

}}}  // namespace thrum::THRUM_ABI::net_detail
#endif

#endif
