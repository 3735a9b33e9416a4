// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/pipe.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_PIPE_DEFINITION_HPP
#define THRUM_IO_PIPE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/message.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/pieces.hpp>
#include <thrum/io/pipe.hpp>
#include <thrum/os/os.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

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
