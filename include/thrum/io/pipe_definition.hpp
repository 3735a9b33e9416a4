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
#include <thrum/io/pipe.hpp>
#include <thrum/os/os.hpp>

#include <string_view>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

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
