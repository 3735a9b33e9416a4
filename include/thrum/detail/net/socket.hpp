// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What connections, listeners and datagram sockets share: making one, its addresses, its options,
// and how its errors read.
#ifndef THRUM_DETAIL_NET_SOCKET_HPP
#define THRUM_DETAIL_NET_SOCKET_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/net/endpoint.hpp>

#include <chrono>
#include <optional>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

using io::native_handle_type;

/// How a TCP connection finds out that its peer is gone: after `idle` of silence it asks, every
/// `interval`, and gives up after `count` questions without an answer. As Go: 15 s, 15 s, 9.
struct keep_alive_options {
  bool enable = true;                 ///< false: it never asks
  std::chrono::seconds idle{15};      ///< of silence before the first question
  std::chrono::seconds interval{15};  ///< between questions
  int count = 9;                      ///< of questions without an answer, then the peer is gone

  friend bool operator==(const keep_alive_options&, const keep_alive_options&) = default;
};

}}}  // namespace thrum::THRUM_ABI::net

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

using namespace net;

/// The address of a socket's own end, or of the other; none if it has none.
THRUM_OUT_OF_LINE endpoint address_of(const io::descriptor& socket, bool peer) noexcept;

/// A descriptor of its own for a new socket of the endpoint's family; on failure none, and `error`.
THRUM_OUT_OF_LINE io::descriptor open_socket(const endpoint& where, int type,
                                             std::error_code& error);

/// A descriptor of its own for a socket that was made elsewhere, of that type, in non-blocking mode; on
/// failure none, `error`, and the socket is closed.
THRUM_OUT_OF_LINE io::descriptor adopt_socket(io::native_handle_type fd, int type,
                                              std::error_code& error);

/// The endpoint to bind instead where the system has no IPv6: any IPv4 address for any address.
THRUM_OUT_OF_LINE std::optional<endpoint> without_ipv6(const endpoint& where,
                                                       const std::error_code& error);

/// Throws for an operation on a socket that failed; names both ends as far as there are some.
[[noreturn]] [[gnu::cold]] void throw_socket(const std::error_code& error,
                                             std::string_view operation,
                                             const io::descriptor& socket);

/// throw_socket for a socket whose ends are known; each may be none.
[[noreturn]] [[gnu::cold]] void throw_between(const std::error_code& error,
                                              std::string_view operation, const endpoint& local,
                                              const endpoint& remote);

/// throw_socket for a socket that was meant for an endpoint.
[[noreturn]] [[gnu::cold]] void throw_endpoint(const std::error_code& error,
                                               std::string_view operation, const endpoint& where);

/// Whether an IPv4 or IPv6 address: what carries TCP and UDP.
THRUM_OUT_OF_LINE bool is_internet(const endpoint& where) noexcept;

/// Below zero: the error of the first option that the system refused.
THRUM_OUT_OF_LINE os::io_result set_keep_alive(os::handle fd,
                                               const keep_alive_options& how) noexcept;

}}}  // namespace thrum::THRUM_ABI::net_detail

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/socket_types.hpp>

#include <algorithm>
#include <climits>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

THRUM_OUT_OF_LINE endpoint address_of(const io::descriptor& socket, bool peer) noexcept {
  ::sockaddr_storage address{};
  ::socklen_t size = sizeof address;
  auto* const to = reinterpret_cast<::sockaddr*>(&address);
  const os::io_result named =
      socket.use([&](os::handle fd) { return os::socket_name(fd, peer, to, size); });
  constexpr auto room = static_cast<::socklen_t>(sizeof address);
  return named < 0 ? endpoint() : endpoint::from_native(to, size < room ? size : room);
}

THRUM_OUT_OF_LINE io::descriptor open_socket(const endpoint& where, int type,
                                             std::error_code& error) {
  if (where.family() == address_family::none) {
    error = os::error_code_of(os::no_address);
    return {};
  }
  const os::io_result fd = os::open_socket(where.data()->sa_family, type, 0);
  if (fd < 0) {
    error = io_detail::error_of(fd);
    return {};
  }
  return io::descriptor(os::handle_of(fd), error);
}

THRUM_OUT_OF_LINE io::descriptor adopt_socket(io::native_handle_type fd, int type,
                                              std::error_code& error) {
  os::io_result result =
      os::is_handle(fd) ? os::get_option(fd, SOL_SOCKET, SO_TYPE) : os::bad_handle;
  if (result >= 0) {
    result = result == type ? os::set_nonblocking(fd, true) : os::not_supported;
  }
  if (result < 0) {
    error = io_detail::error_of(result);
    if (os::is_handle(fd)) {
      os::close(fd);
    }
    return {};
  }
  return io::descriptor(fd, error);
}

THRUM_OUT_OF_LINE std::optional<endpoint> without_ipv6(const endpoint& where,
                                                       const std::error_code& error) {
  if (error != std::errc::address_family_not_supported || !where.is_any() ||
      where.family() != address_family::v6) {
    return std::nullopt;
  }
  return endpoint::v4(0, where.port());
}

THRUM_COLD THRUM_OUT_OF_LINE void throw_socket(const std::error_code& error,
                                               std::string_view operation,
                                               const io::descriptor& socket) {
  throw_between(error, operation, address_of(socket, false), address_of(socket, true));
}

THRUM_COLD THRUM_OUT_OF_LINE void throw_between(const std::error_code& error,
                                                std::string_view operation, const endpoint& local,
                                                const endpoint& remote) {
  base::message<512> text(operation);
  if (local.family() != address_family::none) {
    text.append(" ").append(local.to_string());
  }
  if (remote.family() != address_family::none) {
    text.append(" to ").append(remote.to_string());
  }
  base::throw_system(error, text.view());
}

THRUM_COLD THRUM_OUT_OF_LINE void throw_endpoint(const std::error_code& error,
                                                 std::string_view operation,
                                                 const endpoint& where) {
  base::message<512> text(operation);
  base::throw_system(error, text.append(" ").append(where.to_string()).view());
}

THRUM_OUT_OF_LINE bool is_internet(const endpoint& where) noexcept {
  return where.family() == address_family::v4 || where.family() == address_family::v6;
}

THRUM_OUT_OF_LINE os::io_result set_keep_alive(os::handle fd,
                                               const keep_alive_options& how) noexcept {
  // The system refuses what is beyond its limits; cut to an int it might be within them.
  const auto number = [](std::chrono::seconds time) {
    return static_cast<int>(std::clamp<std::int64_t>(time.count(), -1, INT_MAX));
  };
  return os::set_keep_alive(fd, how.enable, {number(how.idle), number(how.interval), how.count});
}

}}}  // namespace thrum::THRUM_ABI::net_detail
#endif

#endif
