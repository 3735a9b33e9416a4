// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What connections, listeners and datagram sockets share: making one, its addresses, its options,
// and how its errors read.
#ifndef THRUM_NET_SOCKET_HPP
#define THRUM_NET_SOCKET_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/os/os.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace net {

using io::native_handle_type;

/// The address of a socket's own end, or of the other; none if it has none.
inline endpoint address_of(const io::descriptor& socket, bool peer) noexcept {
  ::sockaddr_storage address{};
  ::socklen_t size = sizeof address;
  auto* const to = reinterpret_cast<::sockaddr*>(&address);
  const os::io_result named =
      socket.use([&](int fd) { return os::socket_name(fd, peer, to, size); });
  return named < 0 ? endpoint()
                   : endpoint::from_native(to, size < sizeof address ? size : sizeof address);
}

/// A descriptor of its own for a new socket of the endpoint's family; on failure none, and `error`.
inline io::descriptor open_socket(const endpoint& where, int type, std::error_code& error) {
  if (where.family() == address_family::none) {
    error = {EDESTADDRREQ, std::system_category()};
    return {};
  }
  const os::io_result fd = os::open_socket(where.data()->sa_family, type, 0);
  if (fd < 0) {
    error = io::error_of(fd);
    return {};
  }
  return io::descriptor(static_cast<int>(fd), error);
}

/// The endpoint to bind instead where the system has no IPv6: any IPv4 address for any address.
inline std::optional<endpoint> without_ipv6(const endpoint& where, const std::error_code& error) {
  if (error != std::errc::address_family_not_supported || !where.is_any() ||
      where.family() != address_family::v6) {
    return std::nullopt;
  }
  return endpoint::v4(0, where.port());
}

/// Throws for an operation on a socket that failed; names both ends as far as there are some.
[[noreturn]] THRUM_COLD inline void throw_socket(const std::error_code& error,
                                                 std::string_view operation,
                                                 const io::descriptor& socket) {
  base::message<512> text(operation);
  const endpoint local = address_of(socket, false);
  const endpoint remote = address_of(socket, true);
  if (local.family() != address_family::none) {
    text.append(" ").append(local.to_string());
  }
  if (remote.family() != address_family::none) {
    text.append(" to ").append(remote.to_string());
  }
  base::throw_system(error, text.view());
}

/// The same for one that was meant for an endpoint.
[[noreturn]] THRUM_COLD inline void throw_endpoint(const std::error_code& error,
                                                   std::string_view operation,
                                                   const endpoint& where) {
  base::message<512> text(operation);
  base::throw_system(error, text.append(" ").append(where.to_string()).view());
}

/// Whether an IPv4 or IPv6 address: what carries TCP and UDP.
inline bool is_internet(const endpoint& where) noexcept {
  return where.family() == address_family::v4 || where.family() == address_family::v6;
}

/// How a TCP connection finds out that its peer is gone: after `idle` of silence it asks, every
/// `interval`, and gives up after `count` questions without an answer. As Go: 15 s, 15 s, 9.
struct keep_alive_options {
  bool enable = true;                 ///< false: it never asks
  std::chrono::seconds idle{15};      ///< of silence before the first question
  std::chrono::seconds interval{15};  ///< between questions
  int count = 9;                      ///< of questions without an answer, then the peer is gone

  friend bool operator==(const keep_alive_options&, const keep_alive_options&) = default;
};

/// Below zero: an errno value of the first option that the system refused.
inline os::io_result set_keep_alive(int fd, const keep_alive_options& how) noexcept {
  os::io_result result = os::set_option(fd, SOL_SOCKET, SO_KEEPALIVE, how.enable ? 1 : 0);
  // The system refuses what is beyond its limits; cut to an int it might be within them.
  const auto number = [](std::chrono::seconds time) {
    return static_cast<int>(std::clamp<std::int64_t>(time.count(), -1, INT_MAX));
  };
  const std::pair<int, int> numbers[] = {
      {TCP_KEEPIDLE, number(how.idle)},
      {TCP_KEEPINTVL, number(how.interval)},
      {TCP_KEEPCNT, how.count},
  };
  for (const auto& [name, value] : numbers) {
    if (result >= 0 && how.enable) {
      result = os::set_option(fd, IPPROTO_TCP, name, value);
    }
  }
  return result;
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
