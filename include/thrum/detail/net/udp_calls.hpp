// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Makes a udp_socket: binds it, connects it, or takes over a socket.
//
// Multicast of a udp_socket: membership of groups, and how it sends to them.
//
// Sends or receives several datagrams by one system call.
#ifndef THRUM_DETAIL_NET_UDP_CALLS_HPP
#define THRUM_DETAIL_NET_UDP_CALLS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/socket_types.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/udp_socket.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
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

THRUM_OUT_OF_LINE std::size_t udp_socket::send_many(std::span<const outgoing> all) {
  std::size_t done = 0;
  finish(send_all(all, done), "udp_socket::send_many");
  return done;
}

THRUM_OUT_OF_LINE std::size_t udp_socket::send_many(std::span<const outgoing> all,
                                                    std::error_code& error) {
  std::size_t done = 0;
  io_detail::count_or(send_all(all, done), error);
  return done;
}

THRUM_OUT_OF_LINE std::size_t udp_socket::recv_many(std::span<incoming> into) {
  return finish(receive_all(into), "udp_socket::recv_many");
}

THRUM_OUT_OF_LINE std::size_t udp_socket::recv_many(std::span<incoming> into,
                                                    std::error_code& error) {
  return io_detail::count_or(receive_all(into), error);
}

THRUM_OUT_OF_LINE os::io_result udp_socket::send_all(std::span<const outgoing> all,
                                                     std::size_t& done) {
  if (other_) {
    os::io_result result = 0;
    for (; result >= 0 && done != all.size(); done += result >= 0 ? 1 : 0) {
      const endpoint& to = all[done].to;
      result = other_->send(all[done].bytes, to.family() == address_family::none ? nullptr : &to);
    }
    return result < 0 ? result : 0;
  }
  const bool to_unix = std::any_of(all.begin(), all.end(), [](const outgoing& each) {
    return each.to.family() != address_family::none && !net_detail::is_internet(each.to);
  });
  return run_sending(to_unix, [&](os::handle fd) -> os::io_result {
    while (done != all.size()) {
      os::message messages[at_once];
      os::piece parts[at_once];
      const std::size_t n = std::min(at_once, all.size() - done);
      for (std::size_t i = 0; i != n; ++i) {
        const outgoing& each = all[done + i];
        parts[i] = os::piece_of(each.bytes.data(), each.bytes.size());
        messages[i].set_pieces(&parts[i], 1);
        if (each.to.family() != address_family::none) {
          messages[i].set_name(each.to.data(), each.to.size());
        }
      }
      const os::io_result sent = os::send_messages(fd, messages, static_cast<unsigned>(n));
      if (sent < 0) {
        return sent;
      }
      done += static_cast<std::size_t>(sent);
    }
    return 0;
  });
}

THRUM_OUT_OF_LINE os::io_result udp_socket::take_some(os::handle fd,
                                                      std::span<incoming> into) noexcept {
  std::size_t done = 0;
  while (done != into.size()) {
    os::message messages[at_once];
    os::piece parts[at_once];
    ::sockaddr_storage from[at_once];
    const std::size_t n = std::min(at_once, into.size() - done);
    for (std::size_t i = 0; i != n; ++i) {
      const std::span<std::byte> buffer = into[done + i].buffer;
      parts[i] = os::piece_of(buffer.data(), buffer.size());
      messages[i].set_pieces(&parts[i], 1);
      messages[i].set_name(reinterpret_cast<::sockaddr*>(&from[i]), sizeof from[i]);
    }
    const os::io_result got = os::receive_messages(fd, messages, static_cast<unsigned>(n));
    if (got < 0) {
      return done != 0 ? static_cast<os::io_result>(done) : got;
    }
    for (std::size_t i = 0; i != static_cast<std::size_t>(got); ++i) {
      const os::message& message = messages[i];
      into[done++].result = {
          message.size(),
          endpoint::from_native(reinterpret_cast<::sockaddr*>(&from[i]), message.name_size()),
          message.was_cut_off()};
    }
    if (static_cast<std::size_t>(got) != n) {
      break;
    }
  }
  return static_cast<os::io_result>(done);
}

THRUM_OUT_OF_LINE os::io_result udp_socket::receive_all(std::span<incoming> into) {
  if (into.empty()) {
    return 0;
  }
  if (other_) {
    std::size_t done = 0;
    do {
      datagram& result = into[done].result;
      const os::io_result n = receive(into[done].buffer, &result);
      if (n < 0) {
        return done != 0 ? static_cast<os::io_result>(done) : n;
      }
      result.size = static_cast<std::size_t>(n);
    } while (++done != into.size() && other_->is_readable());
    return static_cast<os::io_result>(done);
  }
  return socket_.run(io::side::read, [&](os::handle fd) { return take_some(fd, into); });
}

}}}  // namespace thrum::THRUM_ABI::net

#endif  // THRUM_DETAIL_NET_UDP_CALLS_HPP
