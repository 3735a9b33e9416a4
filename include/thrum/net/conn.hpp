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
#include <thrum/base/owner.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/network.hpp>
#include <thrum/net/socket.hpp>
#include <thrum/stop_condition.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// What a system knows of a TCP connection; 0 where it says nothing.
struct tcp_info {
  std::chrono::microseconds rtt{0};           ///< round trip, smoothed
  std::chrono::microseconds rtt_variance{0};  ///< mean deviation of it
  std::chrono::microseconds least_rtt{0};     ///< the shortest one
  std::chrono::microseconds timeout{0};       ///< without an answer, before a segment is sent again
  std::uint32_t window = 0;                   ///< of congestion: segments that may be on their way
  std::uint32_t threshold = 0;                ///< of slow start, in segments
  std::uint32_t segment_size = 0;             ///< bytes of a segment
  std::uint32_t unacknowledged = 0;           ///< segments that are on their way
  std::uint32_t lost = 0;                     ///< of them, that are taken for lost
  std::uint32_t retransmits = 0;              ///< segments that were sent again, of all time
  std::uint32_t retries = 0;                  ///< how often in a row the oldest was sent again
};

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

  /// One of a network other than the system's: see net/network.hpp.
  explicit conn(base::owner<net_detail::other_stream> other) noexcept : other_(std::move(other)) {}

  /// Takes over the connected stream socket of another library or process, and makes it
  /// non-blocking; its options stay. errc::operation_not_supported if it is of another kind; on failure
  /// it is closed.
  static conn adopt(native_handle_type socket);
  static conn adopt(native_handle_type socket, std::error_code& error);

  // read, read_full, read_all, read_v, try_read and write, write_v, try_write of stream.hpp, also with
  // a stop.

  /// Waits until there is something to read, or the end, without a buffer to read it to: idle
  /// connections need none.
  void wait_readable();
  void wait_readable(std::error_code& error);
  /// The same until a stop: then std::errc::operation_canceled.
  template <stop_condition Stop, std::same_as<std::error_code>... Error>
  void wait_readable(const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return wait_readable(code), 0; };
    io_detail::until_stopped(*this, "wait_readable", stop, call, error...);
  }
  /// Whether a read would not wait: there is something, or the end, or it would fail.
  bool is_readable() const noexcept;

  /// Sends `n` bytes of an open file from `offset` on. Returns how many there were: less than n at
  /// the file's end. Any n beyond that will do for all of it. Inside the kernel where that can be
  /// done; what is refused there (a pipe, many files of /proc) is copied in pieces, between which
  /// others may write. A pipe has no offsets: 0 is what comes next, and another one is
  /// errc::invalid_seek. What was taken from it and cannot be sent is lost. A cancellation point.
  std::uint64_t send_file(native_handle_type file, std::uint64_t offset, std::uint64_t n);
  std::uint64_t send_file(native_handle_type file, std::uint64_t offset, std::uint64_t n,
                          std::error_code& error);
  /// The same until a stop: then std::errc::operation_canceled; with `error` the returned number says
  /// how much was sent before.
  template <stop_condition Stop, std::same_as<std::error_code>... Error>
  std::uint64_t send_file(native_handle_type file, std::uint64_t offset, std::uint64_t n,
                          const Stop& stop, Error&... error) {
    std::uint64_t done = 0;
    const auto call = [&](std::error_code& code) {
      return done += send_file(file, offset + done, n - done, code);
    };
    io_detail::until_stopped(*this, "send_file", stop, call, error...);
    return done;
  }

  // ---- the rest ----

  /// From `when` on, reading and writing fail with thrum::errc::deadline_exceeded, also those that
  /// wait, also if there is data, until it is moved. time_point::max(): never. Does not throw.
  void set_deadline(time_point when) noexcept;
  void set_read_deadline(time_point when) noexcept { set_deadline(io::side::read, when); }
  void set_write_deadline(time_point when) noexcept { set_deadline(io::side::write, when); }

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
  void close() noexcept;

  /// Gives the socket up without closing it, for others to use; it is in non-blocking mode. To whoever
  /// uses the connection it is closed: see close(). No handle (-1) if it was closed already.
  [[nodiscard]] native_handle_type release() noexcept { return socket_.release(); }

  /// The addresses of this end and of the other; none after close().
  endpoint local() const noexcept { return address(false); }
  endpoint remote() const noexcept { return address(true); }

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

  /// What the system knows of the way to the peer. errc::operation_not_supported where it does not
  /// say: other systems than Linux, Unix sockets.
  net::tcp_info tcp_info() const;
  net::tcp_info tcp_info(std::error_code& error) const;

  /// The system's number, -1 after close(). It stays the connection's: it must not be closed.
  native_handle_type native_handle() const noexcept { return socket_.native_handle(); }

  /// Whether it holds a connection, open or closed.
  explicit operator bool() const noexcept {
    return static_cast<bool>(socket_) || static_cast<bool>(other_);
  }

  /// For on_readable and on_writable.
  const io::descriptor& waits_on() const noexcept { return socket_; }

  /// The operations that stream.hpp makes the members with texts and error codes of: results are
  /// counts, or errors below zero. Programs have no need of them.
  os::io_result read_some(std::span<std::byte> buffer) {
    if (!socket_) [[unlikely]] {
      return read_other(buffer);
    }
    if (buffer.empty()) [[unlikely]] {  // the system would wait
      return socket_.use([](os::handle) { return os::io_result{0}; });
    }
    return socket_.receive(
        buffer, [&](os::handle fd) { return os::receive(fd, buffer.data(), buffer.size()); },
        short_read_is_all_ ? buffer.size() : 0);
  }
  os::io_result write_all(std::span<const std::byte> bytes, std::size_t& done) {
    if (!socket_) [[unlikely]] {
      return write_other(bytes, done);
    }
    return socket_.run_all(io::side::write, [&](os::handle fd) -> os::io_result {
      if (done == bytes.size()) {
        return 0;
      }
      const os::io_result n = os::send(fd, bytes.data() + done, bytes.size() - done);
      done += n > 0 ? static_cast<std::size_t>(n) : 0;
      return n;
    });
  }
  os::io_result read_some_v(std::span<const std::span<std::byte>> pieces);
  os::io_result write_all_v(std::span<const std::span<const std::byte>> pieces, std::size_t& done);
  os::io_result try_read_some(std::span<std::byte> buffer) {
    if (!socket_) [[unlikely]] {
      return try_read_other(buffer);
    }
    return socket_.try_run(
        io::side::read,
        [&](os::handle fd) -> os::io_result {
          return buffer.empty() ? 0 : os::receive(fd, buffer.data(), buffer.size());
        },
        short_read_is_all_ ? buffer.size() : 0);
  }
  os::io_result try_write_some(std::span<const std::byte> bytes) {
    if (!socket_) [[unlikely]] {
      return try_write_other(bytes);
    }
    return socket_.try_run(io::side::write, [&](os::handle fd) -> os::io_result {
      return bytes.empty() ? 0 : os::send(fd, bytes.data(), bytes.size());
    });
  }
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const;

  /// What io::copy uses where bytes need not go through memory: some of them into a pipe that has
  /// room, and n of them out of one, of which `done` says how many; see os::splice_to_pipe.
  os::io_result move_to_pipe(native_handle_type pipe, std::size_t n);
  os::io_result move_from_pipe(native_handle_type pipe, std::size_t n, std::size_t& done);

 private:
  static constexpr std::uint64_t longest_file = INT64_MAX;

  void set_deadline(io::side which, time_point when) noexcept;
  endpoint address(bool peer) const noexcept;
  std::size_t shut_down(int what, std::error_code& error);

  // As read_some and write_all, where there is no socket of the system.
  [[gnu::cold]] os::io_result read_other(std::span<std::byte> buffer);
  [[gnu::cold]] os::io_result write_other(std::span<const std::byte> bytes, std::size_t& done);
  [[gnu::cold]] os::io_result try_read_other(std::span<std::byte> buffer);
  [[gnu::cold]] os::io_result try_write_other(std::span<const std::byte> bytes);

  /// Calls use(socket), unless there is another network's, which knows nothing of it: 0.
  template <class Use>
  os::io_result set_option(Use use) {
    return other_ ? os::io_result{0} : socket_.use(use);
  }

  /// send_file by reading and writing; moves `done`.
  void copy_file(native_handle_type file, std::uint64_t offset, std::uint64_t wanted,
                 std::uint64_t& done, std::error_code& error);

  /// What comes next from a pipe, into a piece. Looks in pauses of this connection: its deadlines
  /// and its end must end the wait, too.
  os::io_result read_stream(native_handle_type file, std::span<std::byte> piece);

  io::descriptor socket_;
  base::owner<net_detail::other_stream> other_;  // in place of a socket of the system
  bool short_read_is_all_ = false;
};

}}}  // namespace thrum::THRUM_ABI::net

#if !THRUM_SEPARATE
#include <thrum/net/conn_definition.hpp>
#endif

#endif
