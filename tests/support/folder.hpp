// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#ifndef THRUM_TESTS_SUPPORT_FOLDER_HPP
#define THRUM_TESTS_SUPPORT_FOLDER_HPP

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#if defined(_WIN32)
#include <io.h>
#endif

namespace support {

/// A new directory, which is removed with the object.
class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "thrum-XXXXXX").string();
#if defined(_WIN32)
    if (::_mktemp_s(name.data(), name.size() + 1) != 0) {
      throw std::system_error(errno, std::generic_category(), "_mktemp_s " + name);
    }
    std::filesystem::create_directory(name);
#else
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "mkdtemp " + name);
    }
#endif
    path_ = name;
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    std::error_code gone;
    std::filesystem::remove_all(path_, gone);
  }

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

  /// Makes a file, and the directories above it.
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace support

#endif
