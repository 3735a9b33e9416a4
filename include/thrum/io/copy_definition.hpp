// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/copy.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_COPY_DEFINITION_HPP
#define THRUM_IO_COPY_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/io/copy.hpp>
#include <thrum/os/os.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE middle_pipe::~middle_pipe() {
  if (ends_[0] != os::no_handle) {
    os::close(ends_[0]);
    os::close(ends_[1]);
  }
}

THRUM_OUT_OF_LINE bool middle_pipe::open() noexcept {
  if (state_ == state::none) {
    state_ = state::useless;
    if (os::open_pipe(ends_) >= 0) {
      os::widen_pipe(ends_[0], most);
      state_ = state::open;
    }
  }
  return state_ == state::open;
}

}}}  // namespace thrum::THRUM_ABI::io_detail

#endif
