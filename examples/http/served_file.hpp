// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The files of one directory as a server sees them: opened by a name from a stranger, with their size.
//
// On Windows names are looked at before they are opened: "..", drives, streams and backslashes are
// refused, and so is a link in any place. So whoever may write there could exchange a directory for a
// link in between, which elsewhere the kernel prevents.
#ifndef THRUM_EXAMPLES_HTTP_SERVED_FILE_HPP
#define THRUM_EXAMPLES_HTTP_SERVED_FILE_HPP

#include <thrum.hpp>

#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#if defined(_WIN32)
#include <algorithm>
#include <filesystem>
#else
#include "open_beneath.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#endif

namespace http {

#if defined(_WIN32)

/// A file that is open, or why it is not.
class served_file {
 public:
  thrum::io::native_handle_type get() const { return file_.native_handle(); }
  std::uint64_t size() const { return size_; }
  bool is_there() const { return !error_; }
  /// Later it might be.
  bool is_busy() const {
    return error_ == std::errc::too_many_files_open || error_ == std::errc::not_enough_memory;
  }

 private:
  friend class served_directory;

  thrum::io::file file_;
  std::uint64_t size_ = 0;
  std::error_code error_ = std::make_error_code(std::errc::no_such_file_or_directory);
};

class served_directory {
 public:
  std::error_code open(const std::string& path) {
    std::error_code error;
    root_ = std::filesystem::canonical(path, error);
    return error;
  }

  /// The file of that relative path. May block.
  served_file find(const std::string& path) const {
    served_file found;
    if (path.find_first_of("\\:") != std::string::npos) {
      return found;
    }
    std::filesystem::path at = root_;
    std::error_code error;
    for (std::size_t begin = 0; begin <= path.size() && !error;) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::string part = path.substr(begin, end - begin);
      at /= part;
      if (part == ".." || std::filesystem::is_symlink(at, error)) {
        return found;
      }
      begin = end + 1;
    }
    if (!error && std::filesystem::is_regular_file(at, error)) {
      found.file_ = thrum::io::file::open(at.string(), thrum::io::open_mode::read, found.error_);
      if (!found.error_) {
        found.size_ = found.file_.size(found.error_);
      }
    }
    return found;
  }

 private:
  std::filesystem::path root_;
};

#else

class served_file {
 public:
  thrum::io::native_handle_type get() const { return file_.get(); }
  std::uint64_t size() const { return size_; }
  bool is_there() const { return error_ == 0; }
  bool is_busy() const { return error_ == EMFILE || error_ == ENFILE || error_ == ENOMEM; }

 private:
  friend class served_directory;

  file_handle file_;
  std::uint64_t size_ = 0;
  int error_ = 0;
};

class served_directory {
 public:
  std::error_code open(const std::string& path) {
    root_ = file_handle(::open(path.c_str(), directory_flags));
    return root_.get() < 0 ? std::error_code(errno, std::system_category()) : std::error_code();
  }

  served_file find(const std::string& path) const {
    served_file found;
    struct ::stat facts {};
    found.file_ = open_beneath(root_.get(), path);
    found.error_ = found.file_.get() < 0 || ::fstat(found.file_.get(), &facts) != 0 ? errno
                   : !S_ISREG(facts.st_mode)                                        ? ENOENT
                                                                                    : 0;
    found.size_ = static_cast<std::uint64_t>(facts.st_size);
    return found;
  }

 private:
  file_handle root_;
};

#endif

}  // namespace http

#endif
