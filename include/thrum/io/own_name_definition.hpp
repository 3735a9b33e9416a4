// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/own_name.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_OWN_NAME_DEFINITION_HPP
#define THRUM_IO_OWN_NAME_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/io/own_name.hpp>
#include <thrum/io/path_text.hpp>
#include <thrum/os/parts.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE own_name::own_name(own_name&& other) noexcept
    : path_(std::exchange(other.path_, {})), about_(other.about_), maker_(other.maker_) {}

THRUM_OUT_OF_LINE own_name& own_name::operator=(own_name&& other) noexcept {
  path_ = std::exchange(other.path_, {});
  about_ = other.about_;
  maker_ = other.maker_;
  return *this;
}

THRUM_OUT_OF_LINE void own_name::set(const std::string& path) {
  const os::io_result found = take_path(
      path_, [&](char* to, std::size_t room) { return os::absolute_path(path.c_str(), to, room); });
  if (found < 0) {
    path_ = path;
  }
  if (os::status_of_name(path_.c_str(), about_) < 0) {
    path_.clear();
  }
  maker_ = os::own_process();
}

THRUM_OUT_OF_LINE bool own_name::is_still_ours() const noexcept {
  os::file_status found;
  return !path_.empty() && maker_ == os::own_process() &&
         os::status_of_name(path_.c_str(), found) >= 0 && found.is_same_file(about_);
}

THRUM_OUT_OF_LINE void own_name::remove_file() const noexcept {
  if (is_still_ours()) {
    os::remove_file(path_.c_str());
  }
}

THRUM_OUT_OF_LINE void own_name::remove_tree() const noexcept {
  if (is_still_ours()) {
    os::remove_tree(path_.c_str());
  }
}

}}}  // namespace thrum::THRUM_ABI::io_detail

#endif
