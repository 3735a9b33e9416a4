// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Makes a udp_socket: binds it, connects it, or takes over a socket.
#ifndef THRUM_DETAIL_NET_UDP_OPEN_HPP
#define THRUM_DETAIL_NET_UDP_OPEN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/socket_types.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/udp_socket.hpp>

#include <string_view>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE udp_socket udp_socket::bind(const endpoint& where, std::error_code& error) {
  return make(where, &os::bind, error);
}

THRUM_OUT_OF_LINE udp_socket udp_socket::connect(const endpoint& where) {
  return or_throw(where, "connect", &os::connect);
}

THRUM_OUT_OF_LINE udp_socket udp_socket::connect(const endpoint& where, std::error_code& error) {
  return make(where, &os::connect, error);
}

THRUM_OUT_OF_LINE udp_socket udp_socket::bind(std::string_view text, std::error_code& error) {
  const endpoint where(text, error);
  return error ? udp_socket() : bind(where, error);
}

THRUM_OUT_OF_LINE udp_socket udp_socket::connect(std::string_view text, std::error_code& error) {
  const endpoint where(text, error);
  return error ? udp_socket() : connect(where, error);
}

THRUM_OUT_OF_LINE udp_socket udp_socket::make(const endpoint& where, attach_function attach,
                                              std::error_code& error, const udp_options& how) {
  udp_socket result;
  if (net_detail::network* const other = net_detail::network_of_caller()) {
    os::io_result made = 0;
    result.other_ = other->datagrams(where, attach == &os::connect, made);
    io_detail::count_or(made, error);
    return result;
  }
  result.socket_ = net_detail::open_socket(where, SOCK_DGRAM, error);
  if (error) {
    const auto instead = net_detail::without_ipv6(where, error);
    return instead ? make(*instead, attach, error, how) : udp_socket();
  }
  const os::handle fd = result.native_handle();
  // The caller has not asked for these: if the system refuses them, the socket can do less.
  if (net_detail::is_internet(where)) {
    os::set_option(fd, SOL_SOCKET, SO_BROADCAST, 1);
  }
  if (where.family() == address_family::v6) {
    os::set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  }
  os::io_result done = 0;
  if (how.reuse_address) {
    done = os::set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  }
  if (done >= 0 && how.reuse_port) {
    done = os::reuse_port(fd);
  }
  if (done >= 0) {
    done = attach(fd, where.data(), where.size());
  }
  if (done < 0) {
    error = io_detail::error_of(done);
    return udp_socket();
  }
  return result;
}

THRUM_OUT_OF_LINE udp_socket udp_socket::bind(const endpoint& where, const udp_options& how) {
  std::error_code error;
  udp_socket result = bind(where, how, error);
  if (error) {
    net_detail::throw_endpoint(error, "udp_socket::bind", where);
  }
  return result;
}

THRUM_OUT_OF_LINE udp_socket udp_socket::bind(const endpoint& where, const udp_options& how,
                                              std::error_code& error) {
  return make(where, &os::bind, error, how);
}

THRUM_OUT_OF_LINE udp_socket udp_socket::adopt(native_handle_type socket) {
  std::error_code error;
  udp_socket result = adopt(socket, error);
  if (error) {
    base::throw_system(error, "udp_socket::adopt");
  }
  return result;
}

THRUM_OUT_OF_LINE udp_socket udp_socket::adopt(native_handle_type socket, std::error_code& error) {
  udp_socket result;
  result.socket_ = net_detail::adopt_socket(socket, SOCK_DGRAM, error);
  return error ? udp_socket() : std::move(result);
}

THRUM_OUT_OF_LINE udp_socket udp_socket::or_throw(const endpoint& where, const char* operation,
                                                  attach_function attach) {
  std::error_code error;
  udp_socket result = make(where, attach, error);
  if (error) {
    net_detail::throw_endpoint(error, base::message<64>("udp_socket::").append(operation).view(),
                               where);
  }
  return result;
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
