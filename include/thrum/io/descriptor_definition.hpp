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
    release();
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

THRUM_OUT_OF_LINE void descriptor::release() noexcept {
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

}}}  // namespace thrum::THRUM_ABI::io_detail

#endif
