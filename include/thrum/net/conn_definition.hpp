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
#include <thrum/io/pieces.hpp>
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

THRUM_OUT_OF_LINE conn conn::adopt(native_handle_type socket) {
  std::error_code error;
  conn result = adopt(socket, error);
  if (error) {
    base::throw_system(error, "conn::adopt");
  }
  return result;
}

THRUM_OUT_OF_LINE conn conn::adopt(native_handle_type socket, std::error_code& error) {
  io::descriptor own = net_detail::adopt_socket(socket, SOCK_STREAM, error);
  return error ? conn() : conn(std::move(own));
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

THRUM_OUT_OF_LINE void conn::wait_readable() {
  io_detail::or_fail(*this, "wait_readable",
                     [&](std::error_code& error) { return wait_readable(error), std::size_t{0}; });
}

THRUM_OUT_OF_LINE void conn::wait_readable(std::error_code& error) {
  if (other_) {
    io_detail::count_or(other_->wait_readable(), error);
    return;
  }
  std::byte first;
  const os::io_result n = socket_.wait(
      io::side::read, [&](os::handle fd) { return os::peek(fd, &first, sizeof first); });
  io_detail::count_or(n, error);
}

THRUM_OUT_OF_LINE bool conn::is_readable() const noexcept {
  if (other_) {
    return other_->is_readable();
  }
  std::byte first;
  return socket_.use([&](os::handle fd) { return os::peek(fd, &first, sizeof first); }) !=
         os::would_block;
}

THRUM_OUT_OF_LINE os::io_result conn::read_some_v(std::span<const std::span<std::byte>> pieces) {
  if (other_) {
    for (const std::span<std::byte> each : pieces) {
      if (!each.empty()) {
        return other_->read(each);
      }
    }
    return other_->read({});
  }
  io_detail::piece_list all(pieces);
  if (all.count == 0) {  // the system would wait
    return socket_.use([](os::handle) { return os::io_result{0}; });
  }
  return socket_.run(
      io::side::read,
      [&](os::handle fd) -> os::io_result {
        os::message message;
        message.set_pieces(all.parts, all.count);
        const os::io_result received = os::receive_messages(fd, &message, 1);
        return received < 0 ? received : static_cast<os::io_result>(message.size());
      },
      short_read_is_all_ ? all.bytes : 0);
}

THRUM_OUT_OF_LINE os::io_result conn::write_all_v(
    std::span<const std::span<const std::byte>> pieces, std::size_t& done) {
  if (other_) {  // as one: whoever writes has the turn until all is written
    std::vector<std::byte> all;
    for (const std::span<const std::byte> each : pieces) {
      all.insert(all.end(), each.begin(), each.end());
    }
    return other_->write(all, done);
  }
  return socket_.run_all(io::side::write, [&](os::handle fd) -> os::io_result {
    io_detail::piece_list left(pieces, done);
    if (left.count == 0) {
      return 0;
    }
    os::message message;
    message.set_pieces(left.parts, left.count);
    const os::io_result n = os::send_message(fd, message);
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
    return n;
  });
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

THRUM_COLD THRUM_OUT_OF_LINE void conn::fail(const std::error_code& error,
                                             const char* operation) const {
  net_detail::throw_between(error, base::message<64>("conn::").append(operation).view(), local(),
                            remote());
}

THRUM_OUT_OF_LINE void conn::set_deadline(io::side which, time_point when) noexcept {
  if (other_) {
    other_->set_deadline(which, when);
  } else {
    socket_.set_deadline(which, when);
  }
}

THRUM_OUT_OF_LINE endpoint conn::address(bool peer) const noexcept {
  return other_ ? other_->address(peer) : net_detail::address_of(socket_, peer);
}

THRUM_OUT_OF_LINE void conn::close() noexcept {
  if (other_) {
    other_->close();
  } else {
    socket_.close();
  }
}

THRUM_COLD THRUM_OUT_OF_LINE os::io_result conn::read_other(std::span<std::byte> buffer) {
  return other_ ? other_->read(buffer) : os::bad_handle;
}

THRUM_COLD THRUM_OUT_OF_LINE os::io_result conn::write_other(std::span<const std::byte> bytes,
                                                             std::size_t& done) {
  return other_ ? other_->write(bytes, done) : os::bad_handle;
}

THRUM_COLD THRUM_OUT_OF_LINE os::io_result conn::try_read_other(std::span<std::byte> buffer) {
  if (!other_) {
    return os::bad_handle;
  }
  return other_->is_readable() ? other_->read(buffer) : os::would_block;
}

THRUM_COLD THRUM_OUT_OF_LINE os::io_result conn::try_write_other(std::span<const std::byte> bytes) {
  return other_ ? other_->try_write(bytes) : os::bad_handle;
}

THRUM_OUT_OF_LINE os::io_result conn::move_to_pipe(native_handle_type pipe, std::size_t n) {
  return other_ ? os::not_supported : io_detail::move_to_pipe(socket_, pipe, n);
}

THRUM_OUT_OF_LINE os::io_result conn::move_from_pipe(native_handle_type pipe, std::size_t n,
                                                     std::size_t& done) {
  return other_ ? os::not_supported : io_detail::move_from_pipe(socket_, pipe, n, done);
}

THRUM_OUT_OF_LINE std::size_t conn::shut_down(int what, std::error_code& error) {
  if (other_) {
    const io::side which = what == os::reading ? io::side::read : io::side::write;
    return io_detail::count_or(other_->shut_down(which), error);
  }
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

}}}  // namespace thrum::THRUM_ABI::net

#endif
