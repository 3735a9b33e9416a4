// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sends or receives several datagrams by one system call.
#ifndef THRUM_DETAIL_NET_UDP_MANY_HPP
#define THRUM_DETAIL_NET_UDP_MANY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/socket_types.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/udp_socket.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

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

#endif
