// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// temporary_file, temporary_directory: removed with the object that made them.
#ifndef THRUM_IO_TEMPORARY_HPP
#define THRUM_IO_TEMPORARY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/io/own_name.hpp>
#include <thrum/detail/os/file_modes.hpp>
#include <thrum/io/file.hpp>

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

/// A new file, open for reading and writing. It did not exist before, and only this user may open it. The
/// destructor closes and removes it, but not in a child process, and not another file that has got its
/// name. Move-only.
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

#if THRUM_BODIES
#include <thrum/blocking.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/os/parts.hpp>

#include <cstddef>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE removed_path& removed_path::operator=(removed_path&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
    own_ = std::move(other.own_);
    is_directory_ = other.is_directory_;
  }
  return *this;
}

THRUM_OUT_OF_LINE void removed_path::set(std::string path, os::entry_kind kind) {
  path_ = std::move(path);
  is_directory_ = kind == os::entry_kind::directory;
  blocking([&] { own_.set(path_); });
}

THRUM_OUT_OF_LINE std::string removed_path::give_up() noexcept {
  own_.forget();
  return std::exchange(path_, {});
}

THRUM_OUT_OF_LINE void removed_path::remove() noexcept {
  if (!path_.empty()) {
    blocking([&] { is_directory_ ? own_.remove_tree() : own_.remove_file(); });
  }
  own_.forget();
  path_.clear();
}

/// Calls make(path) with names until one is not taken; the path, or `error`.
template <class Make>
std::string make_unique(std::string_view prefix, const std::string& directory, Make make,
                        std::error_code& error) {
  error.clear();
  std::string where = directory;
  if (where.empty()) {
    const os::io_result found =
        take_path(where, [](char* to, std::size_t room) { return os::temporary_path(to, room); });
    error = found < 0 ? error_of(found) : std::error_code();
  }
  if (!error && (where.find('\0') != std::string::npos || prefix.find('\0') != std::string::npos)) {
    error = std::make_error_code(std::errc::invalid_argument);
  }
  std::string path;
  do {
    if (error && error != std::errc::file_exists) {
      return {};
    }
    path = path_in(where, std::string(prefix) + random_name());
    make(path);
  } while (error);
  return path;
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE temporary_file temporary_file::make(std::string_view prefix,
                                                      const std::string& directory) {
  std::error_code error;
  temporary_file result = make(prefix, directory, error);
  if (error) {
    base::throw_system(
        error, base::message<512>("temporary_file::make in ").append_quoted(directory).view());
  }
  return result;
}

THRUM_OUT_OF_LINE temporary_file temporary_file::make(std::string_view prefix,
                                                      const std::string& directory,
                                                      std::error_code& error) {
  constexpr unsigned only_this_user = 0600;
  temporary_file result;
  std::string path = io_detail::make_unique(
      prefix, directory,
      [&](const std::string& name) {
        result.file_ =
            file::open(name, open_mode::read_write | open_mode::create | open_mode::exclusive,
                       only_this_user, error);
      },
      error);
  if (!error) {
    result.path_.set(std::move(path), os::entry_kind::file);
  }
  return result;
}

THRUM_OUT_OF_LINE temporary_directory temporary_directory::make(std::string_view prefix,
                                                                const std::string& directory) {
  std::error_code error;
  temporary_directory result = make(prefix, directory, error);
  if (error) {
    base::throw_system(
        error, base::message<512>("temporary_directory::make in ").append_quoted(directory).view());
  }
  return result;
}

THRUM_OUT_OF_LINE temporary_directory temporary_directory::make(std::string_view prefix,
                                                                const std::string& directory,
                                                                std::error_code& error) {
  constexpr unsigned only_this_user = 0700;
  temporary_directory result;
  std::string path = io_detail::make_unique(
      prefix, directory,
      [&](const std::string& name) {
        const os::io_result made =
            blocking([&] { return os::make_directory(name.c_str(), only_this_user); });
        error = made < 0 ? io_detail::error_of(made) : std::error_code();
      },
      error);
  if (!error) {
    result.path_.set(std::move(path), os::entry_kind::directory);
  }
  return result;
}

THRUM_OUT_OF_LINE std::string temporary_directory::operator/(std::string_view name) const {
  return io_detail::path_in(path(), name);
}

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
