// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// child_terminal: what a process needs to know of its pseudo_terminal, so that <thrum/io/process.hpp> does not
// include that class.
#ifndef THRUM_DETAIL_IO_CHILD_TERMINAL_HPP
#define THRUM_DETAIL_IO_CHILD_TERMINAL_HPP

#include <thrum/detail/base/config.hpp>

#include <string>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

class child_terminal {
 public:
  /// The path of the child's end in the file system.
  const std::string& path() const noexcept { return path_; }

 protected:
  std::string path_;
};

}}}  // namespace thrum::THRUM_ABI::io_detail

#endif
