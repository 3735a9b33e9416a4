// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/copy.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_COPY_DEFINITION_HPP
#define THRUM_IO_COPY_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/io/copy.hpp>
#include <thrum/os/os.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

using namespace base::orders;

THRUM_OUT_OF_LINE middle_pipe::~middle_pipe() {
  if (ends_[0] != os::no_handle) {
    os::close(ends_[0]);
    os::close(ends_[1]);
  }
  if (width_ == width::wide) {
    wide_.fetch_sub(1, relaxed);  // relaxed: a count, orders nothing
  }
}

THRUM_OUT_OF_LINE bool middle_pipe::open() noexcept {
  if (state_ == state::none) {
    state_ = state::useless;
    if (os::open_pipe(ends_) >= 0) {
      state_ = state::open;
    }
  }
  return state_ == state::open;
}

THRUM_OUT_OF_LINE void middle_pipe::widen() noexcept {
  width_ = width::stays;
  if (state_ != state::open) {
    return;
  }
  if (wide_.fetch_add(1, relaxed) < most_wide) {  // relaxed: a count, orders nothing
    width_ = width::wide;
    os::widen_pipe(ends_[0], most);
  } else {
    wide_.fetch_sub(1, relaxed);  // relaxed: a count, orders nothing
    os::widen_pipe(ends_[0], most / 4);
  }
}

}}}  // namespace thrum::THRUM_ABI::io_detail

#endif
