// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/descriptor.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_DESCRIPTOR_DEFINITION_HPP
#define THRUM_IO_DESCRIPTOR_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/errc.hpp>
#include <thrum/base/error.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/io/poll_wait.hpp>

#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE descriptor::descriptor(native_handle_type fd, const char* operation) {
  desc_ = sched::poll_wait::open(fd);
  if (desc_ == nullptr) {
    os::close(fd);
    base::throw_system(os::error_code_of(os::no_memory), operation);
  }
}

THRUM_OUT_OF_LINE descriptor::descriptor(native_handle_type fd, std::error_code& error) noexcept
    : desc_(sched::poll_wait::open(fd)) {
  error.clear();
  if (desc_ == nullptr) {
    os::close(fd);
    error = os::error_code_of(os::no_memory);
  }
}

THRUM_OUT_OF_LINE descriptor& descriptor::operator=(descriptor&& other) noexcept {
  if (this != &other) {
    drop();
    desc_ = std::exchange(other.desc_, nullptr);
  }
  return *this;
}

THRUM_OUT_OF_LINE bool descriptor::close() noexcept {
  return close([] {});
}

THRUM_OUT_OF_LINE void descriptor::set_deadline(side which, time_point when) noexcept {
  if (desc_ != nullptr) {
    sched::poll_wait::set_deadline(*desc_, which, time_detail::deadline_at(when));
  }
}

THRUM_OUT_OF_LINE native_handle_type descriptor::release() noexcept {
  return desc_ != nullptr ? sched::poll_wait::end_use(*desc_) : os::no_handle;
}

THRUM_OUT_OF_LINE void descriptor::drop() noexcept {
  if (desc_ != nullptr) {
    close();
    sched::poll_wait::give_back(*desc_);
    desc_ = nullptr;
  }
}

}}}  // namespace thrum::THRUM_ABI::io

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE std::error_code error_of(os::io_result result) noexcept {
  if (result == sched::io_deadline_exceeded) {
    return errc::deadline_exceeded;
  }
  return os::error_code_of(result);
}

THRUM_OUT_OF_LINE os::io_result move_to_pipe(io::descriptor& from, io::native_handle_type pipe,
                                             std::size_t n) {
  return from.run(io::side::read, [&](os::handle fd) { return os::splice_to_pipe(fd, pipe, n); });
}

THRUM_OUT_OF_LINE os::io_result move_from_pipe(io::descriptor& to, io::native_handle_type pipe,
                                               std::size_t n, std::size_t& done) {
  return to.run_all(io::side::write, [&](os::handle fd) -> os::io_result {
    if (done == n) {
      return 0;
    }
    const os::io_result moved = os::splice_from_pipe(pipe, fd, n - done);
    done += moved > 0 ? static_cast<std::size_t>(moved) : 0;
    return moved;
  });
}

}}}  // namespace thrum::THRUM_ABI::io_detail

#endif
