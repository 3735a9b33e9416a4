// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// own_name: the name of something that this process has made and removes again.
//
// Another file may have the name by then: a successor's socket, or, if the working directory has changed, the file
// that a relative path names there. So set() makes the path absolute, and a removal compares device and file
// number. Another process can still exchange the file between the comparison and the removal; no system
// prevents that. A system reuses the number of a file that is gone, but not of one that is open, as a
// listening socket and a temporary file are.
#ifndef THRUM_IO_OWN_NAME_HPP
#define THRUM_IO_OWN_NAME_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/file_modes.hpp>

#include <cstdint>
#include <string>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// Move-only. Holds none at first, and when moved from.
class own_name {
 public:
  own_name() noexcept = default;
  own_name(own_name&& other) noexcept;
  own_name& operator=(own_name&& other) noexcept;

  /// What has this name now is ours. If the system does not say what it is, it is never removed.
  void set(const std::string& path);
  void forget() noexcept { path_.clear(); }

  /// Removes the file or the socket, if the name is still its own and this is the process that has made it.
  void remove_file() const noexcept;
  /// Removes the directory with all that is in it, on these conditions.
  void remove_tree() const noexcept;

 private:
  bool is_still_ours() const noexcept;

  std::string path_;
  os::file_status about_;
  std::int64_t maker_ = 0;
};

}}}  // namespace thrum::THRUM_ABI::io_detail

#if !THRUM_SEPARATE
#include <thrum/io/own_name_definition.hpp>
#endif

#endif
