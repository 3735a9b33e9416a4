// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Multicast of a udp_socket: membership of groups, and how it sends to them.
#ifndef THRUM_DETAIL_NET_UDP_MULTICAST_HPP
#define THRUM_DETAIL_NET_UDP_MULTICAST_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/socket_types.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/udp_socket.hpp>

#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

template <class Set>
void udp_socket::set_multicast(Set set, std::error_code& error) {
  const os::io_result result = other_ ? os::not_supported : socket_.use([&](os::handle fd) {
    const os::io_result family = os::socket_family(fd);
    return family < 0 ? family : set(fd, family == AF_INET6);
  });
  io_detail::count_or(result, error);
}

THRUM_OUT_OF_LINE void udp_socket::set_membership(bool joins, const endpoint& group, unsigned link,
                                                  std::error_code& error) {
  if (!net_detail::is_internet(group)) {
    error = os::error_code_of(os::invalid);
    return;
  }
  set_multicast([&](os::handle fd,
                    bool) { return os::set_member(fd, joins, group.data(), group.size(), link); },
                error);
}

THRUM_OUT_OF_LINE void udp_socket::join(const endpoint& group, unsigned link,
                                        std::error_code& error) {
  set_membership(true, group, link, error);
}

THRUM_OUT_OF_LINE void udp_socket::leave(const endpoint& group, unsigned link,
                                         std::error_code& error) {
  set_membership(false, group, link, error);
}

THRUM_OUT_OF_LINE void udp_socket::multicast_interface(unsigned link, std::error_code& error) {
  set_multicast([&](os::handle fd, bool is_v6) { return os::set_multicast_link(fd, is_v6, link); },
                error);
}

THRUM_OUT_OF_LINE void udp_socket::multicast_hops(int hops, std::error_code& error) {
  set_multicast([&](os::handle fd, bool is_v6) { return os::set_multicast_hops(fd, is_v6, hops); },
                error);
}

THRUM_OUT_OF_LINE void udp_socket::multicast_loop(bool on, std::error_code& error) {
  set_multicast([&](os::handle fd, bool is_v6) { return os::set_multicast_loop(fd, is_v6, on); },
                error);
}

THRUM_OUT_OF_LINE void udp_socket::join(const endpoint& group, unsigned link) {
  std::error_code error;
  join(group, link, error);
  if (error) {
    net_detail::throw_between(error, "udp_socket::join", local(), remote());
  }
}

THRUM_OUT_OF_LINE void udp_socket::leave(const endpoint& group, unsigned link) {
  std::error_code error;
  leave(group, link, error);
  if (error) {
    net_detail::throw_between(error, "udp_socket::leave", local(), remote());
  }
}

THRUM_OUT_OF_LINE void udp_socket::multicast_interface(unsigned link) {
  std::error_code error;
  multicast_interface(link, error);
  if (error) {
    net_detail::throw_between(error, "udp_socket::multicast_interface", local(), remote());
  }
}

THRUM_OUT_OF_LINE void udp_socket::multicast_hops(int hops) {
  std::error_code error;
  multicast_hops(hops, error);
  if (error) {
    net_detail::throw_between(error, "udp_socket::multicast_hops", local(), remote());
  }
}

THRUM_OUT_OF_LINE void udp_socket::multicast_loop(bool on) {
  std::error_code error;
  multicast_loop(on, error);
  if (error) {
    net_detail::throw_between(error, "udp_socket::multicast_loop", local(), remote());
  }
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
