// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// pipe: a stream of bytes inside the system, from a writer to a reader.
//
// Both ends wait in the poller. Writing when no reader is left is an error (errc::broken_pipe), not
// the signal SIGPIPE, whatever the program does with that signal: see os/linux/pipe.hpp.
#ifndef THRUM_IO_PIPE_HPP
#define THRUM_IO_PIPE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// What both ends have. Move-only; closes when destroyed. Using, closing and moving deadlines may
/// be done from several goroutines and threads at the same time; calls take turns.
class pipe_end {
 public:
  /// Ends whatever others do with it: that fails with errc::operation_canceled, as does what comes
  /// later. Returns when the descriptor is closed. Closing again does nothing.
  void close() noexcept { descriptor_.close(); }

  /// Gives the descriptor up without closing it, in non-blocking mode. For all calls on the end it is
  /// closed, as by close(). No handle (-1) if it was closed already.
  [[nodiscard]] native_handle_type release() noexcept { return descriptor_.release(); }

  /// Sets the moment from which every operation fails with errc::deadline_exceeded, also one that waits,
  /// until it is moved. time_point::max(): never.
  void set_deadline(time_point when) noexcept { descriptor_.set_deadline(side_, when); }

  /// The system's number, -1 after close(). It stays the end's: it must not be closed.
  native_handle_type native_handle() const noexcept { return descriptor_.native_handle(); }

  /// For on_readable and on_writable.
  const descriptor& waits_on() const noexcept { return descriptor_; }

  /// Whether it holds an end, open or closed.
  explicit operator bool() const noexcept { return static_cast<bool>(descriptor_); }

 protected:
  constexpr explicit pipe_end(side which) noexcept : side_(which) {}
  pipe_end(side which, descriptor end) noexcept : descriptor_(std::move(end)), side_(which) {}

  /// A number that was opened elsewhere, made non-blocking; on failure it is closed.
  static descriptor adopted(native_handle_type fd, std::error_code& error);

  [[noreturn]] [[gnu::cold]] void fail_as(const char* what, const std::error_code& error,
                                          const char* operation) const;

  descriptor descriptor_;

 private:
  side side_;
};

/// The end to read from. 0 bytes: all writers are closed, here and in other processes.
class pipe_reader : public pipe_end, public stream_reading<pipe_reader> {
 public:
  /// Holds no end: reading fails with errc::bad_file_descriptor.
  pipe_reader() noexcept : pipe_end(side::read) {}
  /// Takes over a descriptor in non-blocking mode.
  explicit pipe_reader(descriptor end) noexcept : pipe_end(side::read, std::move(end)) {}

  /// Takes over an end that was opened elsewhere, and makes it non-blocking; on failure it is closed.
  static pipe_reader adopt(native_handle_type end);
  static pipe_reader adopt(native_handle_type end, std::error_code& error);

  /// The name that streams with two directions have for it.
  void set_read_deadline(time_point when) noexcept { set_deadline(when); }

  /// The operations that stream.hpp makes the members with texts and error codes of: results are
  /// counts, or errors below zero. Programs have no need of them.
  os::io_result read_some(std::span<std::byte> buffer) {
    return descriptor_.run(
        side::read, [&](os::handle fd) { return os::read(fd, buffer.data(), buffer.size()); });
  }
  os::io_result read_some_v(std::span<const std::span<std::byte>> pieces);
  os::io_result try_read_some(std::span<std::byte> buffer) {
    return descriptor_.try_run(
        side::read, [&](os::handle fd) { return os::read(fd, buffer.data(), buffer.size()); });
  }
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const;
  /// As of net::conn.
  os::io_result move_to_pipe(native_handle_type pipe, std::size_t n) {
    return io_detail::move_to_pipe(descriptor_, pipe, n);
  }
};

/// The end to write to. errc::broken_pipe: all readers are closed.
class pipe_writer : public pipe_end, public stream_writing<pipe_writer> {
 public:
  /// Holds no end: writing fails with errc::bad_file_descriptor.
  pipe_writer() noexcept : pipe_end(side::write) {}
  /// Takes over a descriptor in non-blocking mode.
  explicit pipe_writer(descriptor end) noexcept : pipe_end(side::write, std::move(end)) {}

  /// Takes over an end that was opened elsewhere, and makes it non-blocking; on failure it is closed.
  static pipe_writer adopt(native_handle_type end);
  static pipe_writer adopt(native_handle_type end, std::error_code& error);

  /// The name that streams with two directions have for it.
  void set_write_deadline(time_point when) noexcept { set_deadline(when); }

  /// The operations that stream.hpp makes the members with texts and error codes of: results are
  /// counts, or errors below zero. Programs have no need of them.
  os::io_result write_all(std::span<const std::byte> bytes, std::size_t& done) {
    return descriptor_.run_all(side::write, [&](os::handle fd) -> os::io_result {
      if (done == bytes.size()) {
        return 0;
      }
      const os::io_result n =
          os::write_without_signal(fd, bytes.data() + done, bytes.size() - done);
      done += n > 0 ? static_cast<std::size_t>(n) : 0;
      return n;
    });
  }
  os::io_result write_all_v(std::span<const std::span<const std::byte>> pieces, std::size_t& done);
  os::io_result try_write_some(std::span<const std::byte> bytes) {
    return descriptor_.try_run(side::write, [&](os::handle fd) {
      return os::write_without_signal(fd, bytes.data(), bytes.size());
    });
  }
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const;
  /// As of net::conn.
  os::io_result move_from_pipe(native_handle_type pipe, std::size_t n, std::size_t& done) {
    return io_detail::move_from_pipe(descriptor_, pipe, n, done);
  }
};

/// Both ends of a new pipe, closed by exec. Move-only; the ends may be moved out and go their own
/// ways, and are closed one by one.
class pipe {
 public:
  /// Throws std::system_error if the system gives no pipe: it is out of descriptors, for example.
  pipe();
  /// As pipe(); sets `error` instead of throwing, and then holds no ends.
  explicit pipe(std::error_code& error) { open(error); }

  /// The ends, to be used alone or moved out.
  pipe_reader& reader() noexcept { return reader_; }
  pipe_writer& writer() noexcept { return writer_; }

  /// The operations of the ends. `args` as there: with or without an error_code.
  template <class... Args>
  std::size_t read(std::span<char> buffer, Args&... args) {
    return reader_.read(buffer, args...);
  }
  template <class... Args>
  std::size_t read(std::span<std::byte> buffer, Args&... args) {
    return reader_.read(buffer, args...);
  }
  template <class... Args>
  std::size_t write(std::string_view text, Args&... args) {
    return writer_.write(text, args...);
  }
  template <class... Args>
  std::size_t write(std::span<const std::byte> bytes, Args&... args) {
    return writer_.write(bytes, args...);
  }
  void set_deadline(time_point when) noexcept;
  void set_read_deadline(time_point when) noexcept { reader_.set_deadline(when); }
  void set_write_deadline(time_point when) noexcept { writer_.set_deadline(when); }

  /// Closes the reading end: if no copy of it is open elsewhere, writing fails with errc::broken_pipe from
  /// now on.
  void close_read() noexcept { reader_.close(); }
  /// The reader gets what was written, then the end.
  void close_write() noexcept { writer_.close(); }
  void close() noexcept;

 private:
  void open(std::error_code& error);

  pipe_reader reader_;
  pipe_writer writer_;
};

}}}  // namespace thrum::THRUM_ABI::io

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/io/pieces.hpp>
#include <thrum/detail/os/os.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE descriptor pipe_end::adopted(native_handle_type fd, std::error_code& error) {
  const os::io_result done = os::is_handle(fd) ? os::set_nonblocking(fd, true) : os::bad_handle;
  if (done < 0) {
    error = io_detail::error_of(done);
    if (os::is_handle(fd)) {
      os::close(fd);
    }
    return {};
  }
  return descriptor(fd, error);
}

THRUM_OUT_OF_LINE pipe_reader pipe_reader::adopt(native_handle_type end) {
  std::error_code error;
  pipe_reader result = adopt(end, error);
  if (error) {
    result.fail(error, "adopt");
  }
  return result;
}

THRUM_OUT_OF_LINE pipe_reader pipe_reader::adopt(native_handle_type end, std::error_code& error) {
  descriptor own = adopted(end, error);
  return error ? pipe_reader() : pipe_reader(std::move(own));
}

THRUM_OUT_OF_LINE pipe_writer pipe_writer::adopt(native_handle_type end) {
  std::error_code error;
  pipe_writer result = adopt(end, error);
  if (error) {
    result.fail(error, "adopt");
  }
  return result;
}

THRUM_OUT_OF_LINE pipe_writer pipe_writer::adopt(native_handle_type end, std::error_code& error) {
  descriptor own = adopted(end, error);
  return error ? pipe_writer() : pipe_writer(std::move(own));
}

THRUM_COLD THRUM_OUT_OF_LINE void pipe_end::fail_as(const char* what, const std::error_code& error,
                                                    const char* operation) const {
  base::throw_system(error, base::message<>(what).append("::").append(operation).view());
}

THRUM_COLD THRUM_OUT_OF_LINE void pipe_reader::fail(const std::error_code& error,
                                                    const char* operation) const {
  fail_as("pipe_reader", error, operation);
}

THRUM_COLD THRUM_OUT_OF_LINE void pipe_writer::fail(const std::error_code& error,
                                                    const char* operation) const {
  fail_as("pipe_writer", error, operation);
}

THRUM_OUT_OF_LINE os::io_result pipe_reader::read_some_v(
    std::span<const std::span<std::byte>> pieces) {
  const io_detail::piece_list all(pieces);
  return descriptor_.run(side::read,
                         [&](os::handle fd) { return os::read_pieces(fd, all.parts, all.count); });
}

THRUM_OUT_OF_LINE os::io_result pipe_writer::write_all_v(
    std::span<const std::span<const std::byte>> pieces, std::size_t& done) {
  return descriptor_.run_all(side::write, [&](os::handle fd) -> os::io_result {
    const io_detail::piece_list left(pieces, done);
    if (left.count == 0) {
      return 0;
    }
    const os::io_result n = os::write_pieces(fd, left.parts, left.count);
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
    return n;
  });
}

THRUM_OUT_OF_LINE pipe::pipe() {
  std::error_code error;
  open(error);
  if (error) {
    base::throw_system(error, "pipe::pipe");
  }
}

THRUM_OUT_OF_LINE void pipe::set_deadline(time_point when) noexcept {
  set_read_deadline(when);
  set_write_deadline(when);
}

THRUM_OUT_OF_LINE void pipe::close() noexcept {
  writer_.close();
  reader_.close();
}

THRUM_OUT_OF_LINE void pipe::open(std::error_code& error) {
  os::handle fds[2];
  const os::io_result result = os::open_pipe(fds);
  if (result < 0) {
    error = io_detail::error_of(result);
    return;
  }
  std::error_code of_writer;
  descriptor reader(fds[0], error);
  descriptor writer(fds[1], of_writer);
  if (!error) {
    error = of_writer;
  }
  if (!error) {
    reader_ = pipe_reader(std::move(reader));
    writer_ = pipe_writer(std::move(writer));
  }
}

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
