// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#ifndef THRUM_TESTS_SUPPORT_NAMELESS_FILE_HPP
#define THRUM_TESTS_SUPPORT_NAMELESS_FILE_HPP

#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace support {

/// An empty file for reading and writing that has no name: it is gone with its last descriptor. -1: there
/// is none. It is the caller's.
inline int open_nameless_file() {
  std::string name = (std::filesystem::temp_directory_path() / "thrum-XXXXXX").string();
  const int fd = ::mkstemp(name.data());
  if (fd >= 0) {
    ::unlink(name.c_str());
  }
  return fd;
}

}  // namespace support

#endif
