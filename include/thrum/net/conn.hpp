// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// conn: a connection that carries a stream of bytes, TCP or Unix.
//
// Every operation that can fail for reasons of the network comes twice: one throws
// std::system_error with both addresses in its text, the other sets an error_code. The codes that
// are decided here: thrum::errc::deadline_exceeded, std::errc::operation_canceled after close().
//
// A short read of TCP means that there is no more at the moment, so the next one waits before it
// asks again: a request costs one receive, not two. That does not hold when the peer has closed or
// has sent out of band, of which the poller tells, nor for Unix sockets, which end a read where
// descriptors were sent along.
#ifndef THRUM_NET_CONN_HPP
#define THRUM_NET_CONN_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/blocking.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/socket.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// Move-only. Reading, writing, closing and moving deadlines may be done from several goroutines
/// and threads at the same time; two that read (or write) take turns, each with a whole operation.
/// Reading and writing are cancellation points. Closes when destroyed.
class conn : public io::stream_reading<conn>, public io::stream_writing<conn> {
 public:
  conn() noexcept = default;

  /// Takes over a connected stream socket in non-blocking mode.
  explicit conn(io::descriptor socket) noexcept : socket_(std::move(socket)) {
    const os::io_result domain = os::get_option(socket_.native_handle(), SOL_SOCKET, SO_DOMAIN);
    short_read_is_all_ = domain == AF_INET || domain == AF_INET6;
  }
  /// The same, for a caller that knows already whether it is TCP.
  conn(io::descriptor socket, bool is_tcp) noexcept
      : socket_(std::move(socket)), short_read_is_all_(is_tcp) {}

  // read, read_full, read_all and write, write of stream.hpp.

  /// Waits until there is something to read, or the end, without a buffer to read it to: idle
  /// connections need none.
  void wait_readable() {
    io::or_fail(*this, "wait_readable",
                [&](std::error_code& error) { return wait_readable(error), std::size_t{0}; });
  }
  void wait_readable(std::error_code& error) {
    std::byte first;
    const os::io_result n =
        socket_.wait(io::side::read, [&](int fd) { return os::peek(fd, &first, sizeof first); });
    io::count_or(n, error);
  }

  /// Writes several pieces as one, by one system call if they fit. Returns the sum of their sizes.
  std::size_t write_v(std::span<const std::span<const std::byte>> pieces) {
    return io::or_fail(*this, "write_v",
                       [&](std::error_code& error) { return write_v(pieces, error); });
  }
  std::size_t write_v(std::span<const std::span<const std::byte>> pieces, std::error_code& error) {
    std::size_t sent = 0;
    const os::io_result result = socket_.run_all(
        io::side::write, [&](int fd) -> os::io_result { return send_pieces(fd, pieces, sent); });
    io::count_or(result, error);
    return sent;
  }

  /// Sends `n` bytes of an open file from `offset` on. Returns how many there were: less than n at
  /// the file's end. Any n beyond that will do for all of it. Inside the kernel where that can be
  /// done; what is refused there (a pipe, many files of /proc) is copied in pieces, between which
  /// others may write. A pipe has no offsets: 0 is what comes next, and another one is
  /// errc::invalid_seek. What was taken from it and cannot be sent is lost. A cancellation point.
  std::uint64_t send_file(native_handle_type file, std::uint64_t offset, std::uint64_t n) {
    return io::or_fail(*this, "send_file",
                       [&](std::error_code& error) { return send_file(file, offset, n, error); });
  }
  std::uint64_t send_file(native_handle_type file, std::uint64_t offset, std::uint64_t n,
                          std::error_code& error) {
    const std::uint64_t most_left = offset < longest_file ? longest_file - offset : 0;
    const std::uint64_t wanted = n < most_left ? n : most_left;
    std::uint64_t done = 0;
    bool refused = false;
    const os::io_result result = socket_.run_all(io::side::write, [&](int fd) -> os::io_result {
      constexpr std::uint64_t most = std::uint64_t{1} << 20;  // then the socket is looked at again
      if (done == wanted) {
        return 0;
      }
      const std::uint64_t left = wanted - done;
      const os::io_result sent = os::send_file(fd, file, static_cast<std::int64_t>(offset + done),
                                               static_cast<std::size_t>(left < most ? left : most));
      if (sent <= 0) {
        refused = sent == -EINVAL || sent == -ESPIPE || sent == -ENOSYS;
        return refused ? 0 : sent;
      }
      // Not how far the offset has moved: a device may leave it where it is.
      done += static_cast<std::uint64_t>(sent);
      return sent;
    });
    io::count_or(result, error);
    if (refused) {
      copy_file(file, offset, wanted, done, error);
    }
    return done;
  }

  // ---- the rest ----

  /// From `when` on, reading and writing fail with thrum::errc::deadline_exceeded, also those that
  /// wait, also if there is data, until it is moved. time_point::max(): never. Does not throw.
  void set_deadline(time_point when) noexcept {
    set_read_deadline(when);
    set_write_deadline(when);
  }
  void set_read_deadline(time_point when) noexcept { socket_.set_deadline(io::side::read, when); }
  void set_write_deadline(time_point when) noexcept { socket_.set_deadline(io::side::write, when); }

  /// Tells the peer that no more comes: it reads the end of the stream. Reading goes on.
  void close_write() {
    io::or_fail(*this, "close_write",
                [&](std::error_code& error) { return shut_down(SHUT_WR, error); });
  }
  void close_write(std::error_code& error) { shut_down(SHUT_WR, error); }
  /// A read that waits gets the end of the stream, as do later reads while there is nothing.
  /// The peer is not told, and with TCP what it sends later can still be read: see shutdown(2).
  void close_read() {
    io::or_fail(*this, "close_read",
                [&](std::error_code& error) { return shut_down(SHUT_RD, error); });
  }
  void close_read(std::error_code& error) { shut_down(SHUT_RD, error); }

  /// Ends whatever others do with it: that fails with errc::operation_canceled, as does what comes
  /// later. Returns when the descriptor is closed. What was written is still sent. Closing again
  /// does nothing.
  void close() noexcept { socket_.close(); }

  /// The addresses of this end and of the other; none after close().
  endpoint local() const noexcept { return address_of(socket_, false); }
  endpoint remote() const noexcept { return address_of(socket_, true); }

  /// Whether small writes are sent at once (the default) or gathered. Only TCP.
  void no_delay(bool on) {
    io::or_fail(*this, "no_delay", [&](std::error_code& error) { return no_delay(on, error), 0; });
  }
  void no_delay(bool on, std::error_code& error) {
    io::count_or(socket_.use([&](int fd) {
      return os::set_option(fd, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0);
    }),
                 error);
  }
  /// How to find out that the peer is gone. On, by default. Only TCP.
  void keep_alive(const keep_alive_options& how) {
    io::or_fail(*this, "keep_alive",
                [&](std::error_code& error) { return keep_alive(how, error), 0; });
  }
  void keep_alive(const keep_alive_options& how, std::error_code& error) {
    io::count_or(socket_.use([&](int fd) { return set_keep_alive(fd, how); }), error);
  }
  /// What close() does with data that is not sent yet: negative, sends it in the background (the
  /// default); 0, drops it and resets the connection; else waits for so many seconds. Only TCP.
  void linger(int seconds) {
    io::or_fail(*this, "linger", [&](std::error_code& error) { return linger(seconds, error), 0; });
  }
  void linger(int seconds, std::error_code& error) {
    io::count_or(socket_.use([&](int fd) { return os::set_linger(fd, seconds); }), error);
  }

  /// The system's number, -1 after close(). It stays the connection's: it must not be closed.
  native_handle_type native_handle() const noexcept { return socket_.native_handle(); }

  /// Whether it holds a connection, open or closed.
  explicit operator bool() const noexcept { return static_cast<bool>(socket_); }

  /// The operations that stream.hpp makes the members with texts and error codes of: results are
  /// counts, or errno values below zero. Programs have no need of them.
  os::io_result read_some(std::span<std::byte> buffer) {
    if (buffer.empty()) [[unlikely]] {  // the system would wait
      return socket_.use([](int) { return os::io_result{0}; });
    }
    return socket_.run(
        io::side::read, [&](int fd) { return os::receive(fd, buffer.data(), buffer.size()); },
        short_read_is_all_ ? buffer.size() : 0);
  }
  os::io_result write_all(std::span<const std::byte> bytes, std::size_t& done) {
    return socket_.run_all(io::side::write, [&](int fd) -> os::io_result {
      if (done == bytes.size()) {
        return 0;
      }
      const os::io_result n = os::send(fd, bytes.data() + done, bytes.size() - done);
      done += n > 0 ? static_cast<std::size_t>(n) : 0;
      return n;
    });
  }
  [[noreturn]] THRUM_COLD void fail(const std::error_code& error, const char* operation) const {
    throw_socket(error, base::message<64>("conn::").append(operation).view(), socket_);
  }

 private:
  static constexpr std::uint64_t longest_file = INT64_MAX;

  std::size_t shut_down(int how, std::error_code& error) {
    const os::io_result result = socket_.use([&](int fd) { return os::shut_down(fd, how); });
    return io::count_or(result == -ENOTCONN ? 0 : result, error);  // the peer was faster
  }

  /// send_file by reading and writing; moves `done`.
  void copy_file(native_handle_type file, std::uint64_t offset, std::uint64_t wanted,
                 std::uint64_t& done, std::error_code& error) {
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
        has_offsets = got != -ESPIPE || offset != 0;
      }
      if (!has_offsets) {
        got = read_stream(file, std::span(buffer).first(n));
      }
      if (got == -EINTR) {
        continue;
      }
      if (io::count_or(got, error) == 0) {
        return;
      }
      done += write(std::span(std::as_const(buffer)).first(static_cast<std::size_t>(got)), error);
      if (error) {
        return;
      }
    }
  }

  /// What comes next from a pipe, into a piece. Looks in pauses of this connection: its deadlines
  /// and its end must end the wait, too.
  os::io_result read_stream(native_handle_type file, std::span<std::byte> piece) {
    for (;;) {
      const os::io_result seen = socket_.run_paced(io::side::write, [&](int) -> os::io_result {
        const os::io_result ready = os::wait_for(file, false, 0);
        return ready == 0 ? -EAGAIN : ready;
      });
      if (seen < 0) {
        return seen;
      }
      // In case somebody else takes it first.
      const os::io_result got =
          blocking([&] { return os::read(file, piece.data(), piece.size()); });
      if (got != -EAGAIN) {
        return got;
      }
    }
  }

  /// Sends of the pieces what is left and fits into one call; moves `sent`.
  static os::io_result send_pieces(int fd, std::span<const std::span<const std::byte>> pieces,
                                   std::size_t& sent) noexcept {
    constexpr std::size_t at_once = 64;
    ::iovec parts[at_once];
    std::size_t count = 0;
    std::size_t skip = sent;
    for (const auto& piece : pieces) {
      if (skip >= piece.size()) {
        skip -= piece.size();
        continue;
      }
      // The system's type is not const, and it does not write there.
      parts[count++] = {const_cast<std::byte*>(piece.data()) + skip, piece.size() - skip};
      skip = 0;
      if (count == at_once) {
        break;
      }
    }
    if (count == 0) {
      return 0;
    }
    ::msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const os::io_result n = os::send_message(fd, message);
    sent += n > 0 ? static_cast<std::size_t>(n) : 0;
    return n;
  }

  io::descriptor socket_;
  bool short_read_is_all_ = false;
};

}}}  // namespace thrum::THRUM_ABI::net

#endif
