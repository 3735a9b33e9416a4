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

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/net/endpoint.hpp>
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
  /// conn(socket) for a caller that knows already whether it is TCP.
  conn(io::descriptor socket, bool is_tcp) noexcept
      : socket_(std::move(socket)), short_read_is_all_(is_tcp) {}

  /// For the library: a connection of a network other than the system's, testing::fake_net.
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
  /// wait_readable() until a stop: then std::errc::operation_canceled.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
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
  /// send_file until a stop: then std::errc::operation_canceled; with `error` the returned number says how
  /// much was sent before.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
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

  /// Sets the moment from which reading and writing fail with thrum::errc::deadline_exceeded, also calls
  /// that wait, also if there is data, until it is moved. time_point::max(): never. Does not throw.
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

  /// Gives the socket up without closing it, in non-blocking mode, for other code to use. For all calls on
  /// the connection it is closed: see close(). No handle (-1) if it was closed already.
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

#if THRUM_BODIES
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/io/pieces.hpp>
#include <thrum/detail/net/conn_calls.hpp>  // IWYU pragma: keep: bodies
#include <thrum/detail/os/socket_types.hpp>

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
  if (other_) {  // as one: a writer has the turn until all is written
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

}}}  // namespace thrum::THRUM_ABI::net
#endif

#endif
