// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// pipe: a stream of bytes inside the system, from a writer to a reader.
//
// Both ends wait in the poller. Writing when no reader is left is an error (errc::broken_pipe), not
// the signal SIGPIPE, whatever the program does with that signal: see os/linux/pipe.hpp.
#ifndef THRUM_IO_PIPE_HPP
#define THRUM_IO_PIPE_HPP

#include <thrum/base/config.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/os/parts.hpp>

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

  /// Gives the descriptor up without closing it, in non-blocking mode. To whoever uses the end it is
  /// closed. No handle (-1) if it was closed already.
  [[nodiscard]] native_handle_type release() noexcept { return descriptor_.release(); }

  /// From `when` on every operation fails with errc::deadline_exceeded, also one that waits, until
  /// it is moved. time_point::max(): never.
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
  /// The same; sets `error` instead of throwing, and then holds no ends.
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

  /// From now on writing fails with errc::broken_pipe, if nobody else has the reading end.
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

#if !THRUM_SEPARATE
#include <thrum/io/pipe_definition.hpp>
#endif

#endif
