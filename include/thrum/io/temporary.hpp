// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Files and directories that go with the object that made them.
#ifndef THRUM_IO_TEMPORARY_HPP
#define THRUM_IO_TEMPORARY_HPP

#include <thrum/base/config.hpp>
#include <thrum/io/file.hpp>
#include <thrum/io/own_name.hpp>
#include <thrum/os/file_modes.hpp>

#include <string>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// The path of something, and what removes that: nothing but what was made under this name, by the process
/// that has made it.
class removed_path {
 public:
  removed_path() noexcept = default;
  removed_path(removed_path&& other) noexcept = default;
  removed_path& operator=(removed_path&& other) noexcept;
  ~removed_path() { remove(); }

  void set(std::string path, os::entry_kind kind);
  std::string give_up() noexcept;
  const std::string& get() const noexcept { return path_; }
  void remove() noexcept;

 private:
  std::string path_;
  own_name own_;
  bool is_directory_ = false;
};

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// A new file, open for reading and writing, which nobody else had and only this user may open. The
/// destructor closes and removes it, but not in a child process, and nothing else that has got its name.
/// Move-only.
class temporary_file {
 public:
  /// Holds none.
  temporary_file() noexcept = default;
  /// In a directory, or in the system's for such files (TMPDIR); its name begins with `prefix`.
  static temporary_file make(std::string_view prefix = "thrum-", const std::string& directory = {});
  static temporary_file make(std::string_view prefix, const std::string& directory,
                             std::error_code& error);

  /// The file, open unless it was closed.
  file& get() noexcept { return file_; }
  file* operator->() noexcept { return &file_; }
  /// Where it is; empty if there is none, or it was kept.
  const std::string& path() const noexcept { return path_.get(); }

  /// Lets it stay; returns its path.
  std::string keep() noexcept { return path_.give_up(); }

 private:
  io_detail::removed_path path_;
  file file_;  // closed before: elsewhere what is open is not removed
};

/// A new directory, which only this user may enter. The destructor removes it with all that is in it,
/// but not in a child process, and nothing else that has got its name. Move-only.
class temporary_directory {
 public:
  /// Holds none.
  temporary_directory() noexcept = default;
  /// As of temporary_file.
  static temporary_directory make(std::string_view prefix = "thrum-",
                                  const std::string& directory = {});
  static temporary_directory make(std::string_view prefix, const std::string& directory,
                                  std::error_code& error);

  /// Where it is; empty if there is none, or it was kept.
  const std::string& path() const noexcept { return path_.get(); }
  /// The path of something in it.
  std::string operator/(std::string_view name) const;

  /// Lets it stay; returns its path.
  std::string keep() noexcept { return path_.give_up(); }

 private:
  io_detail::removed_path path_;
};

}}}  // namespace thrum::THRUM_ABI::io

#if !THRUM_SEPARATE
#include <thrum/io/temporary_definition.hpp>
#endif

#endif
