// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/pseudo_terminal.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_PSEUDO_TERMINAL_DEFINITION_HPP
#define THRUM_IO_PSEUDO_TERMINAL_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/message.hpp>
#include <thrum/blocking.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/pseudo_terminal.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/os/parts.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <system_error>
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
