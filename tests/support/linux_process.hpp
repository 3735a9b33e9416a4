// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// support/process.hpp, as Linux says it: /proc.
#ifndef THRUM_TESTS_SUPPORT_LINUX_PROCESS_HPP
#define THRUM_TESTS_SUPPORT_LINUX_PROCESS_HPP

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace support {

[[gnu::noinline]] inline long os_thread() { return ::syscall(SYS_gettid); }

/// Calls f(path) for each entry of a folder of /proc.
template <class F>
void for_each_entry(const std::string& folder, F f) {
  std::error_code gone;
  for (std::filesystem::directory_iterator at(folder, gone), end; at != end; at.increment(gone)) {
    f(at->path());
  }
}

inline std::size_t thread_count() {
  std::size_t n = 0;
  for_each_entry("/proc/self/task", [&](const std::filesystem::path&) { ++n; });
  return n;
}

inline std::multiset<std::string> thread_names() {
  std::multiset<std::string> names;
  for_each_entry("/proc/self/task", [&](const std::filesystem::path& thread) {
    std::ifstream file(thread / "comm");
    std::string name;
    if (std::getline(file, name)) {
      names.insert(name);
    }
  });
  return names;
}

inline std::vector<long> threads_to_signal() {
  std::vector<long> all;
  for_each_entry("/proc/self/task", [&](const std::filesystem::path& thread) {
    all.push_back(std::stol(thread.filename().string()));
  });
  return all;
}

inline void signal_thread(long thread, int signal) {
  ::syscall(SYS_tgkill, ::getpid(), thread, signal);
}

inline void this_stack(const void*& low, std::size_t& bytes) {
  ::pthread_attr_t about;
  void* begin = nullptr;
  ::pthread_getattr_np(::pthread_self(), &about);
  ::pthread_attr_getstack(&about, &begin, &bytes);
  ::pthread_attr_destroy(&about);
  low = begin;
}

inline std::size_t mapping_count() {
  std::ifstream file("/proc/self/maps");
  std::size_t n = 0;
  for (std::string line; std::getline(file, line);) {
    ++n;
  }
  return n;
}

/// A line of a file that is given in kB, in bytes. 0: no such line.
inline std::size_t bytes_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (word == key + ":") {
      std::size_t kilobytes = 0;
      file >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

inline std::size_t address_space_bytes() { return bytes_in("/proc/self/status", "VmSize"); }

/// By the list of mappings: an emulator leaves its own out there, and not in VmSize.
inline std::size_t reserved_bytes() {
  std::ifstream file("/proc/self/maps");
  std::size_t sum = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t dash = line.find('-');
    sum += static_cast<std::size_t>(std::stoull(line.substr(dash + 1), nullptr, 16) -
                                    std::stoull(line, nullptr, 16));
  }
  return sum;
}

inline std::size_t resident_bytes() { return bytes_in("/proc/self/status", "VmRSS"); }

/// To the page: VmRSS lags behind by some pages of each processor.
inline std::size_t resident_bytes_of(std::int64_t pid) {
  return bytes_in("/proc/" + std::to_string(pid) + "/smaps_rollup", "Rss");
}

inline std::size_t heap_bytes() {
#if defined(__GLIBC__)
  return ::mallinfo2().uordblks;
#else
  return 0;
#endif
}

inline void use_one_heap() {
#if defined(M_ARENA_MAX)
  ::mallopt(M_ARENA_MAX, 1);
#endif
}

inline std::size_t open_descriptors() {
  std::size_t n = 0;
  for_each_entry("/proc/self/fd", [&](const std::filesystem::path&) { ++n; });
  return n;
}

inline std::string own_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

/// Whether a child has ended and was not reaped.
inline bool is_zombie(std::int64_t pid) {
  std::string stat;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), stat);
  return stat.find(") Z ") != std::string::npos;
}

inline void end_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

}  // namespace support

#endif
