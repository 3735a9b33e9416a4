// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What net/conn.hpp declares: the bodies that are not inlined.
#ifndef THRUM_NET_CONN_DEFINITION_HPP
#define THRUM_NET_CONN_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/message.hpp>
#include <thrum/blocking.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/socket.hpp>
#include <thrum/os/socket_types.hpp>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE conn::conn(io::descriptor socket) noexcept : socket_(std::move(socket)) {
  const os::io_result family = os::socket_family(socket_.native_handle());
  short_read_is_all_ = family == AF_INET || family == AF_INET6;
}

THRUM_OUT_OF_LINE void conn::wait_readable() {
  io_detail::or_fail(*this, "wait_readable",
                     [&](std::error_code& error) { return wait_readable(error), std::size_t{0}; });
}

THRUM_OUT_OF_LINE void conn::wait_readable(std::error_code& error) {
  std::byte first;
  const os::io_result n = socket_.wait(
      io::side::read, [&](os::handle fd) { return os::peek(fd, &first, sizeof first); });
  io_detail::count_or(n, error);
}

THRUM_OUT_OF_LINE std::size_t conn::write_v(std::span<const std::span<const std::byte>> pieces) {
  return io_detail::or_fail(*this, "write_v",
                            [&](std::error_code& error) { return write_v(pieces, error); });
}

THRUM_OUT_OF_LINE std::size_t conn::write_v(std::span<const std::span<const std::byte>> pieces,
                                            std::error_code& error) {
  std::size_t sent = 0;
  const os::io_result result = socket_.run_all(
      io::side::write,
      [&](os::handle fd) -> os::io_result { return send_pieces(fd, pieces, sent); });
  io_detail::count_or(result, error);
  return sent;
}

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

THRUM_OUT_OF_LINE void conn::set_deadline(time_point when) noexcept {
  set_read_deadline(when);
  set_write_deadline(when);
}

THRUM_OUT_OF_LINE void conn::close_write() {
  io_detail::or_fail(*this, "close_write",
                     [&](std::error_code& error) { return shut_down(os::writing, error); });
}

THRUM_OUT_OF_LINE void conn::close_read() {
  io_detail::or_fail(*this, "close_read",
                     [&](std::error_code& error) { return shut_down(os::reading, error); });
}

THRUM_OUT_OF_LINE void conn::no_delay(bool on) {
  io_detail::or_fail(*this, "no_delay",
                     [&](std::error_code& error) { return no_delay(on, error), 0; });
}

THRUM_OUT_OF_LINE void conn::no_delay(bool on, std::error_code& error) {
  io_detail::count_or(socket_.use([&](os::handle fd) { return os::set_no_delay(fd, on); }), error);
}

THRUM_OUT_OF_LINE void conn::keep_alive(const keep_alive_options& how) {
  io_detail::or_fail(*this, "keep_alive",
                     [&](std::error_code& error) { return keep_alive(how, error), 0; });
}

THRUM_OUT_OF_LINE void conn::keep_alive(const keep_alive_options& how, std::error_code& error) {
  io_detail::count_or(
      socket_.use([&](os::handle fd) { return net_detail::set_keep_alive(fd, how); }), error);
}

THRUM_OUT_OF_LINE void conn::linger(int seconds) {
  io_detail::or_fail(*this, "linger",
                     [&](std::error_code& error) { return linger(seconds, error), 0; });
}

THRUM_OUT_OF_LINE void conn::linger(int seconds, std::error_code& error) {
  io_detail::count_or(socket_.use([&](os::handle fd) { return os::set_linger(fd, seconds); }),
                      error);
}

THRUM_COLD THRUM_OUT_OF_LINE void conn::fail(const std::error_code& error,
                                             const char* operation) const {
  net_detail::throw_socket(error, base::message<64>("conn::").append(operation).view(), socket_);
}

THRUM_OUT_OF_LINE std::size_t conn::shut_down(int what, std::error_code& error) {
  const os::io_result result = socket_.use([&](os::handle fd) { return os::shut_down(fd, what); });
  if (what == os::reading) {
    socket_.make_ready(io::side::read);  // not every system's poller tells of it
  }
  return io_detail::count_or(result == os::not_connected ? 0 : result,
                             error);  // the peer was faster
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
      got = read_stream(file, std::span(buffer).first(n));
    }
    if (got == os::interrupted) {
      continue;
    }
    if (io_detail::count_or(got, error) == 0) {
      return;
    }
    done += write(std::span(std::as_const(buffer)).first(static_cast<std::size_t>(got)), error);
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
    // In case somebody else takes it first.
    const os::io_result got = blocking([&] { return os::read(file, piece.data(), piece.size()); });
    if (got != os::would_block) {
      return got;
    }
  }
}

THRUM_OUT_OF_LINE os::io_result conn::send_pieces(
    os::handle fd, std::span<const std::span<const std::byte>> pieces, std::size_t& sent) noexcept {
  constexpr std::size_t at_once = 64;
  os::piece parts[at_once];
  std::size_t count = 0;
  std::size_t skip = sent;
  for (const auto& piece : pieces) {
    if (skip >= piece.size()) {
      skip -= piece.size();
      continue;
    }
    parts[count++] = os::piece_of(piece.data() + skip, piece.size() - skip);
    skip = 0;
    if (count == at_once) {
      break;
    }
  }
  if (count == 0) {
    return 0;
  }
  os::message message;
  message.set_pieces(parts, count);
  const os::io_result n = os::send_message(fd, message);
  sent += n > 0 ? static_cast<std::size_t>(n) : 0;
  return n;
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
