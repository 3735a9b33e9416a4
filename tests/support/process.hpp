// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the system says about this process: its threads, its mappings, its memory.
#ifndef THRUM_TESTS_SUPPORT_PROCESS_HPP
#define THRUM_TESTS_SUPPORT_PROCESS_HPP

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <system_error>

#if defined(_WIN32)
#include "support/windows_process.hpp"
#else
#include <sys/syscall.h>
#include <unistd.h>

namespace support {

/// The calling OS thread. Asks the system each time: a compiler may keep what pthread_self()
/// returned across a migration.
[[gnu::noinline]] inline long os_thread() { return ::syscall(SYS_gettid); }

/// OS threads of this process.
inline std::size_t thread_count() {
  std::error_code gone;
  std::size_t n = 0;
  for (std::filesystem::directory_iterator at("/proc/self/task", gone), end; at != end;
       at.increment(gone)) {
    ++n;
  }
  return n;
}

/// Their names.
inline std::multiset<std::string> thread_names() {
  std::multiset<std::string> names;
  std::error_code gone;
  for (std::filesystem::directory_iterator at("/proc/self/task", gone), end; at != end;
       at.increment(gone)) {
    std::ifstream file(at->path() / "comm");
    std::string name;
    if (std::getline(file, name)) {
      names.insert(name);
    }
  }
  return names;
}

/// Lines of /proc/self/maps.
inline std::size_t mapping_count() {
  std::ifstream file("/proc/self/maps");
  std::size_t n = 0;
  for (std::string line; std::getline(file, line);) {
    ++n;
  }
  return n;
}

/// A line of /proc/self/status that is given in kB, in bytes: VmRSS, VmSize, VmPTE. 0: no such
/// line.
inline std::size_t status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    if (word == key + ":") {
      std::size_t kilobytes = 0;
      file >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

}  // namespace support
#endif  // _WIN32

#endif
