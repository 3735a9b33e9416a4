// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// redirect: what a child process has for its standard input, output or error.
#ifndef THRUM_IO_REDIRECT_HPP
#define THRUM_IO_REDIRECT_HPP

#include <thrum/base/config.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/file.hpp>
#include <thrum/os/parts.hpp>

#include <string>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// One of these for each stream of a child.
class redirect {
 public:
  /// The same as ours.
  redirect() noexcept = default;
  static redirect inherit() { return {}; }
  /// Nothing to read; what is written disappears.
  static redirect null() { return {kind::path, os::null_device, open_mode::read_write}; }
  /// A pipe, whose other end is the process object's in(), out() or err().
  static redirect pipe() { return {kind::pipe, {}, {}}; }
  /// A file, opened here; a relative path counts from our directory.
  static redirect to_file(std::string path, open_mode mode = open_mode::write | open_mode::create |
                                                             open_mode::truncate);
  static redirect from_file(std::string path);
  /// An open descriptor, which stays the caller's and must stay open until spawn() has returned. It
  /// should be in blocking mode: most programs expect that.
  static redirect to(native_handle_type fd);
  /// For standard error: the same as standard output.
  static redirect to_output() { return {kind::output, {}, {}}; }

  /// Which of the ways above was chosen: pipe(), to_output().
  bool is_pipe() const noexcept { return kind_ == kind::pipe; }
  bool is_output() const noexcept { return kind_ == kind::output; }

 private:
  friend class child_streams;
  enum class kind { inherit, path, pipe, descriptor, output };

  redirect(kind what, std::string path, open_mode mode)
      : kind_(what), path_(std::move(path)), mode_(mode) {}

  kind kind_ = kind::inherit;
  std::string path_;
  open_mode mode_ = open_mode::read;
  native_handle_type fd_ = os::no_handle;
};

}}}  // namespace thrum::THRUM_ABI::io

#if !THRUM_SEPARATE
#include <thrum/io/redirect_definition.hpp>
#endif

#endif
