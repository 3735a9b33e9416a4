// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Standard error, for a program that waits for what it writes there itself.
#ifndef THRUM_TESTS_SUPPORT_WATCHED_ERRORS_HPP
#define THRUM_TESTS_SUPPORT_WATCHED_ERRORS_HPP

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#if defined(_WIN32)
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#else
#include "support/nameless_file.hpp"
#endif
#include <unistd.h>

namespace support {

/// Standard error goes to a file in memory until the end, so that a program can wait for what is
/// written there instead of for some time.
class watched_errors {
 public:
  watched_errors() : before_(::dup(STDERR_FILENO)), file_(open_file()) {
    ::dup2(file_, STDERR_FILENO);
  }
  ~watched_errors() {
    ::dup2(before_, STDERR_FILENO);
    const std::string all = take();
    std::fwrite(all.data(), 1, all.size(), stderr);
    ::close(file_);
    ::close(before_);
#if defined(_WIN32)
    std::error_code unknown;
    std::filesystem::remove(path(), unknown);
#endif
  }
  watched_errors(const watched_errors&) = delete;
  watched_errors& operator=(const watched_errors&) = delete;

  bool say(std::string_view words) const { return text().find(words) != std::string::npos; }

  /// What was written since the last time; nobody else writes it then.
  std::string take() {
    const std::string all = text();
    std::string fresh = all.substr(taken_);
    taken_ = all.size();
    return fresh;
  }

 private:
#if defined(_WIN32)
  static std::filesystem::path path() {
    return std::filesystem::temp_directory_path() / ("errors" + std::to_string(::_getpid()));
  }
  static int open_file() {
    return ::_wopen(path().c_str(), _O_CREAT | _O_TRUNC | _O_RDWR | _O_BINARY, S_IRUSR | S_IWUSR);
  }
  std::string text() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
#else
  static int open_file() { return open_nameless_file(); }
  std::string text() const {
    std::string all;
    char part[4096];
    for (::ssize_t n = 0;
         (n = ::pread(file_, part, sizeof part, static_cast<::off_t>(all.size()))) > 0;) {
      all.append(part, static_cast<std::size_t>(n));
    }
    return all;
  }
#endif

  const int before_;
  const int file_;
  std::size_t taken_ = 0;
};

}  // namespace support

#endif
