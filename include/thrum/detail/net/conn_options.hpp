// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Socket options of a conn, and tcp_info.
#ifndef THRUM_DETAIL_NET_CONN_OPTIONS_HPP
#define THRUM_DETAIL_NET_CONN_OPTIONS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/net/conn.hpp>

#include <chrono>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE net::tcp_info conn::tcp_info() const {
  return io_detail::or_fail(*this, "tcp_info",
                            [&](std::error_code& error) { return tcp_info(error); });
}

THRUM_OUT_OF_LINE net::tcp_info conn::tcp_info(std::error_code& error) const {
  os::tcp_numbers seen;
  const os::io_result result =
      other_ ? os::not_supported
             : socket_.use([&](os::handle fd) { return os::get_tcp_numbers(fd, seen); });
  io_detail::count_or(result, error);
  using us = std::chrono::microseconds;
  return {us(seen.rtt_us), us(seen.rtt_variance_us), us(seen.least_rtt_us), us(seen.timeout_us),
          seen.window,     seen.threshold,           seen.segment_size,     seen.unacknowledged,
          seen.lost,       seen.retransmits,         seen.retries};
}

THRUM_OUT_OF_LINE void conn::no_delay(bool on) {
  io_detail::or_fail(*this, "no_delay",
                     [&](std::error_code& error) { return no_delay(on, error), 0; });
}

THRUM_OUT_OF_LINE void conn::no_delay(bool on, std::error_code& error) {
  io_detail::count_or(set_option([&](os::handle fd) { return os::set_no_delay(fd, on); }), error);
}

THRUM_OUT_OF_LINE void conn::keep_alive(const keep_alive_options& how) {
  io_detail::or_fail(*this, "keep_alive",
                     [&](std::error_code& error) { return keep_alive(how, error), 0; });
}

THRUM_OUT_OF_LINE void conn::keep_alive(const keep_alive_options& how, std::error_code& error) {
  io_detail::count_or(
      set_option([&](os::handle fd) { return net_detail::set_keep_alive(fd, how); }), error);
}

THRUM_OUT_OF_LINE void conn::linger(int seconds) {
  io_detail::or_fail(*this, "linger",
                     [&](std::error_code& error) { return linger(seconds, error), 0; });
}

THRUM_OUT_OF_LINE void conn::linger(int seconds, std::error_code& error) {
  if (other_) {
    other_->reset_at_close(seconds == 0);
  }
  io_detail::count_or(set_option([&](os::handle fd) { return os::set_linger(fd, seconds); }),
                      error);
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
