// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// pseudo_terminal: what a program takes for a terminal, for a child that wants one.
//
//   thrum::io::pseudo_terminal terminal;
//   auto child = thrum::io::process::spawn({"vi"}, {.terminal = &terminal});
//   terminal.write(":q\n");
//
// A write here is what a user types there; a read here gets what the terminal would show, with the echo of
// what was typed. POSIX systems; elsewhere making one fails with errc::operation_not_supported.
#ifndef THRUM_IO_PSEUDO_TERMINAL_HPP
#define THRUM_IO_PSEUDO_TERMINAL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/io/child_process.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>

#include <cstddef>
#include <span>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// Our end of it, a stream in both directions. Move-only; closes when destroyed, upon which its child
/// gets SIGHUP. Reading, writing, closing and moving deadlines may be done from several goroutines and
/// threads at the same time. Reading and writing are cancellation points. A read gives the end when no
/// program has the other end open any more, which some systems say before the first one has.
class pseudo_terminal : public stream_reading<pseudo_terminal>,
                        public stream_writing<pseudo_terminal>,
                        public io_detail::child_terminal {
 public:
  /// Throws std::system_error if the system gives none.
  pseudo_terminal();
  /// As pseudo_terminal(); sets `error` instead of throwing, and then holds none.
  explicit pseudo_terminal(std::error_code& error);

  /// How many rows and columns of characters it shows. The child gets SIGWINCH.
  void resize(unsigned rows, unsigned columns);
  void resize(unsigned rows, unsigned columns, std::error_code& error);

  /// As of conn.
  void set_deadline(time_point when) noexcept;
  void set_read_deadline(time_point when) noexcept;
  void set_write_deadline(time_point when) noexcept;
  /// Ends whatever others do with it: that fails with errc::operation_canceled, as does what comes
  /// later. Closing again does nothing.
  void close() noexcept { descriptor_.close(); }

  /// The system's number, -1 after close(). It stays the object's: it must not be closed.
  native_handle_type native_handle() const noexcept { return descriptor_.native_handle(); }
  /// Whether it holds one, open or closed.
  explicit operator bool() const noexcept { return static_cast<bool>(descriptor_); }

  /// The operations that stream.hpp makes the members with texts and error codes of. Programs have no
  /// need of them.
  os::io_result read_some(std::span<std::byte> buffer);
  os::io_result write_all(std::span<const std::byte> bytes, std::size_t& done);
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const;

 private:
  void open(std::error_code& error);

  descriptor descriptor_;
};

}}}  // namespace thrum::THRUM_ABI::io

#if THRUM_BODIES
#include <thrum/blocking.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/os/parts.hpp>

#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE pseudo_terminal::pseudo_terminal() {
  std::error_code error;
  open(error);
  if (error) {
    base::throw_system(error, "pseudo_terminal::pseudo_terminal");
  }
}

THRUM_OUT_OF_LINE pseudo_terminal::pseudo_terminal(std::error_code& error) { open(error); }

THRUM_OUT_OF_LINE void pseudo_terminal::open(std::error_code& error) {
  constexpr std::size_t longest_path = 128;
  char path[longest_path] = {};
  const os::io_result fd = blocking([&] { return os::open_terminal(path, sizeof path); });
  if (fd < 0) {
    error = io_detail::error_of(fd);
    return;
  }
  descriptor own(os::handle_of(fd), error);
  if (!error) {
    descriptor_ = std::move(own);
    path_ = path;
  }
}

THRUM_OUT_OF_LINE void pseudo_terminal::resize(unsigned rows, unsigned columns) {
  io_detail::or_fail(*this, "resize",
                     [&](std::error_code& error) { return resize(rows, columns, error), 0; });
}

THRUM_OUT_OF_LINE void pseudo_terminal::resize(unsigned rows, unsigned columns,
                                               std::error_code& error) {
  constexpr unsigned most = 0xffff;
  io_detail::count_or(
      rows > most || columns > most ? os::invalid : descriptor_.use([&](os::handle fd) {
        return os::resize_terminal(fd, rows, columns);
      }),
      error);
}

THRUM_OUT_OF_LINE void pseudo_terminal::set_deadline(time_point when) noexcept {
  set_read_deadline(when);
  set_write_deadline(when);
}

THRUM_OUT_OF_LINE void pseudo_terminal::set_read_deadline(time_point when) noexcept {
  descriptor_.set_deadline(side::read, when);
}

THRUM_OUT_OF_LINE void pseudo_terminal::set_write_deadline(time_point when) noexcept {
  descriptor_.set_deadline(side::write, when);
}

THRUM_OUT_OF_LINE os::io_result pseudo_terminal::read_some(std::span<std::byte> buffer) {
  const os::io_result n = descriptor_.run(
      side::read, [&](os::handle fd) { return os::read(fd, buffer.data(), buffer.size()); });
  return os::is_terminal_end(n) ? 0 : n;
}

THRUM_OUT_OF_LINE os::io_result pseudo_terminal::write_all(std::span<const std::byte> bytes,
                                                           std::size_t& done) {
  return descriptor_.run_all(side::write, [&](os::handle fd) -> os::io_result {
    if (done == bytes.size()) {
      return 0;
    }
    const os::io_result n = os::write(fd, bytes.data() + done, bytes.size() - done);
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
    return n;
  });
}

THRUM_COLD THRUM_OUT_OF_LINE void pseudo_terminal::fail(const std::error_code& error,
                                                        const char* operation) const {
  base::throw_system(
      error,
      base::message<256>("pseudo_terminal::").append(operation).append(" ").append(path_).view());
}

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
