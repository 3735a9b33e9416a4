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
#include <thrum/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/socket.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// Move-only. Reading, writing, closing and moving deadlines may be done from several goroutines
/// and threads at the same time; two that read (or write) take turns, each with a whole operation.
/// Reading and writing are cancellation points. Closes when destroyed.
class conn : public io::stream_reading<conn>, public io::stream_writing<conn> {
 public:
  conn() noexcept = default;

  /// Takes over a connected stream socket in non-blocking mode.
  explicit conn(io::descriptor socket) noexcept;
  /// The same, for a caller that knows already whether it is TCP.
  conn(io::descriptor socket, bool is_tcp) noexcept
      : socket_(std::move(socket)), short_read_is_all_(is_tcp) {}

  // read, read_full, read_all and write, write of stream.hpp.

  /// Waits until there is something to read, or the end, without a buffer to read it to: idle
  /// connections need none.
  void wait_readable();
  void wait_readable(std::error_code& error);

  /// Writes several pieces as one, by one system call if they fit. Returns the sum of their sizes.
  std::size_t write_v(std::span<const std::span<const std::byte>> pieces);
  std::size_t write_v(std::span<const std::span<const std::byte>> pieces, std::error_code& error);

  /// Sends `n` bytes of an open file from `offset` on. Returns how many there were: less than n at
  /// the file's end. Any n beyond that will do for all of it. Inside the kernel where that can be
  /// done; what is refused there (a pipe, many files of /proc) is copied in pieces, between which
  /// others may write. A pipe has no offsets: 0 is what comes next, and another one is
  /// errc::invalid_seek. What was taken from it and cannot be sent is lost. A cancellation point.
  std::uint64_t send_file(native_handle_type file, std::uint64_t offset, std::uint64_t n);
  std::uint64_t send_file(native_handle_type file, std::uint64_t offset, std::uint64_t n,
                          std::error_code& error);

  // ---- the rest ----

  /// From `when` on, reading and writing fail with thrum::errc::deadline_exceeded, also those that
  /// wait, also if there is data, until it is moved. time_point::max(): never. Does not throw.
  void set_deadline(time_point when) noexcept;
  void set_read_deadline(time_point when) noexcept { socket_.set_deadline(io::side::read, when); }
  void set_write_deadline(time_point when) noexcept { socket_.set_deadline(io::side::write, when); }

  /// Tells the peer that no more comes: it reads the end of the stream. Reading goes on.
  void close_write();
  void close_write(std::error_code& error) { shut_down(os::writing, error); }
  /// A read that waits gets the end of the stream, as do later reads while there is nothing.
  /// The peer is not told, and with TCP what it sends later can still be read: see shutdown(2). On
  /// Windows it cannot, and ends the connection.
  void close_read();
  void close_read(std::error_code& error) { shut_down(os::reading, error); }

  /// Ends whatever others do with it: that fails with errc::operation_canceled, as does what comes
  /// later. Returns when the descriptor is closed. What was written is still sent. Closing again
  /// does nothing.
  void close() noexcept { socket_.close(); }

  /// The addresses of this end and of the other; none after close().
  endpoint local() const noexcept { return net_detail::address_of(socket_, false); }
  endpoint remote() const noexcept { return net_detail::address_of(socket_, true); }

  /// Whether small writes are sent at once (the default) or gathered. Only TCP.
  void no_delay(bool on);
  void no_delay(bool on, std::error_code& error);
  /// How to find out that the peer is gone. On, by default. Only TCP.
  void keep_alive(const keep_alive_options& how);
  void keep_alive(const keep_alive_options& how, std::error_code& error);
  /// What close() does with data that is not sent yet: negative, sends it in the background (the
  /// default); 0, drops it and resets the connection; else waits for so many seconds. Only TCP.
  void linger(int seconds);
  void linger(int seconds, std::error_code& error);

  /// The system's number, -1 after close(). It stays the connection's: it must not be closed.
  native_handle_type native_handle() const noexcept { return socket_.native_handle(); }

  /// Whether it holds a connection, open or closed.
  explicit operator bool() const noexcept { return static_cast<bool>(socket_); }

  /// The operations that stream.hpp makes the members with texts and error codes of: results are
  /// counts, or errors below zero. Programs have no need of them.
  os::io_result read_some(std::span<std::byte> buffer) {
    if (buffer.empty()) [[unlikely]] {  // the system would wait
      return socket_.use([](os::handle) { return os::io_result{0}; });
    }
    return socket_.receive(
        buffer, [&](os::handle fd) { return os::receive(fd, buffer.data(), buffer.size()); },
        short_read_is_all_ ? buffer.size() : 0);
  }
  os::io_result write_all(std::span<const std::byte> bytes, std::size_t& done) {
    return socket_.run_all(io::side::write, [&](os::handle fd) -> os::io_result {
      if (done == bytes.size()) {
        return 0;
      }
      const os::io_result n = os::send(fd, bytes.data() + done, bytes.size() - done);
      done += n > 0 ? static_cast<std::size_t>(n) : 0;
      return n;
    });
  }
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const;

 private:
  static constexpr std::uint64_t longest_file = INT64_MAX;

  std::size_t shut_down(int what, std::error_code& error);

  /// send_file by reading and writing; moves `done`.
  void copy_file(native_handle_type file, std::uint64_t offset, std::uint64_t wanted,
                 std::uint64_t& done, std::error_code& error);

  /// What comes next from a pipe, into a piece. Looks in pauses of this connection: its deadlines
  /// and its end must end the wait, too.
  os::io_result read_stream(native_handle_type file, std::span<std::byte> piece);

  /// Sends of the pieces what is left and fits into one call; moves `sent`.
  static os::io_result send_pieces(os::handle fd,
                                   std::span<const std::span<const std::byte>> pieces,
                                   std::size_t& sent) noexcept;

  io::descriptor socket_;
  bool short_read_is_all_ = false;
};

}}}  // namespace thrum::THRUM_ABI::net

#if !THRUM_SEPARATE
#include <thrum/net/conn_definition.hpp>
#endif

#endif
