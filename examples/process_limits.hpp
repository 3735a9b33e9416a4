// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many files and connections a process may have open, and whether somebody looks at what it
// writes: what each system says in its own way.
#ifndef THRUM_EXAMPLES_PROCESS_LIMITS_HPP
#define THRUM_EXAMPLES_PROCESS_LIMITS_HPP

#include <cstddef>
#include <cstdio>

#if defined(_WIN32)
#include <io.h>

/// How a file is opened by the C library for reading, as it is and for ourselves alone.
inline constexpr const char* binary = "rbN";

/// There is no limit but memory.
inline void allow_all_descriptors() {}

/// Of the C library's files, which has a limit of its own.
inline std::size_t most_open_files() { return 256; }

inline bool is_terminal(std::FILE* file) { return ::_isatty(::_fileno(file)) != 0; }

#else
#include <sys/resource.h>
#include <unistd.h>

inline constexpr const char* binary = "rbe";

/// Every connection needs a descriptor, and the usual limit, which a process may raise, is 1,024.
inline void allow_all_descriptors() {
  ::rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/// As the limit is now; 0: unknown.
inline std::size_t most_open_files() {
  ::rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur) : 0;
}

inline bool is_terminal(std::FILE* file) { return ::isatty(::fileno(file)) == 1; }

#endif

#endif
