// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sends a file over a conn: inside the kernel if the system can, else in pieces.
//
// Socket options of a conn, and tcp_info.
#ifndef THRUM_DETAIL_NET_CONN_CALLS_HPP
#define THRUM_DETAIL_NET_CONN_CALLS_HPP

#include <thrum/blocking.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/net/conn.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE std::uint64_t conn::send_file(native_handle_type file, std::uint64_t offset,
                                                std::uint64_t n) {
  return io_detail::or_fail(*this, "send_file", [&](std::error_code& error) {
    return send_file(file, offset, n, error);
  });
}

THRUM_OUT_OF_LINE std::uint64_t conn::send_file(native_handle_type file, std::uint64_t offset,
                                                std::uint64_t n, std::error_code& error) {
  const std::uint64_t most_left = offset < longest_file ? longest_file - offset : 0;
  const std::uint64_t wanted = n < most_left ? n : most_left;
  std::uint64_t done = 0;
  if (other_) {
    error.clear();
    copy_file(file, offset, wanted, done, error);
    return done;
  }
  bool refused = false;
  const os::io_result result =
      socket_.run_all(io::side::write, [&](os::handle fd) -> os::io_result {
        constexpr std::uint64_t most = std::uint64_t{1}
                                       << 20;  // then the socket is looked at again
        if (done == wanted) {
          return 0;
        }
        const std::uint64_t left = wanted - done;
        const os::io_result sent =
            os::send_file(fd, file, static_cast<std::int64_t>(offset + done),
                          static_cast<std::size_t>(left < most ? left : most));
        if (sent <= 0) {
          refused = os::cannot_send_file(sent);
          return refused ? 0 : sent;
        }
        // Not how far the offset has moved: a device may leave it where it is.
        done += static_cast<std::uint64_t>(sent);
        return sent;
      });
  io_detail::count_or(result, error);
  if (refused) {
    copy_file(file, offset, wanted, done, error);
  }
  return done;
}

THRUM_OUT_OF_LINE void conn::copy_file(native_handle_type file, std::uint64_t offset,
                                       std::uint64_t wanted, std::uint64_t& done,
                                       std::error_code& error) {
  constexpr std::uint64_t most = 64 * 1024;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(wanted - done, most)));
  bool has_offsets = true;
  while (done < wanted) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(wanted - done, most));
    os::io_result got = 0;
    if (has_offsets) {
      got = blocking([&] {
        return os::read_at(file, buffer.data(), n, static_cast<std::int64_t>(offset + done));
      });
      has_offsets = got != os::no_offsets || offset != 0;
    }
    if (!has_offsets) {
      got = read_stream(file, std::span<std::byte>(buffer.data(), n));
    }
    if (got == os::interrupted) {
      continue;
    }
    if (io_detail::count_or(got, error) == 0) {
      return;
    }
    done += write(std::span<const std::byte>(buffer.data(), static_cast<std::size_t>(got)), error);
    if (error) {
      return;
    }
  }
}

THRUM_OUT_OF_LINE os::io_result conn::read_stream(native_handle_type file,
                                                  std::span<std::byte> piece) {
  for (;;) {
    const os::io_result seen = socket_.run_paced(io::side::write, [&](os::handle) -> os::io_result {
      const os::io_result ready = os::wait_for(file, false, 0);
      return ready == 0 ? os::would_block : ready;
    });
    if (seen < 0) {
      return seen;
    }
    // blocking(): another reader of the file may take it first.
    const os::io_result got = blocking([&] { return os::read(file, piece.data(), piece.size()); });
    if (got != os::would_block) {
      return got;
    }
  }
}

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

#endif  // THRUM_DETAIL_NET_CONN_CALLS_HPP
