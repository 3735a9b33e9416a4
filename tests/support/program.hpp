// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Runs a sub-command of thrum_programs, or of a program like it, and tells how it ended and what it
// wrote.
//
// Where the programs need an emulator, THRUM_TEST_EMULATOR holds the words that go in front.
#ifndef THRUM_TESTS_SUPPORT_PROGRAM_HPP
#define THRUM_TESTS_SUPPORT_PROGRAM_HPP

#include "support/exit_codes.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#if defined(_WIN32)
#include <stdio.h>
#else
#include <sys/wait.h>
#endif

namespace support {

struct program_result {
  int signal = 0;      ///< that killed it; 0: it exited
  int exit_code = -1;  ///< 126 or 127: it could not be started
  std::string text;    ///< standard output and standard error

  bool says(const std::string& words) const { return text.find(words) != std::string::npos; }
};

/// Whether this signal is what a program gets that uses memory which is not there.
inline bool is_fault(int signal) {
#if defined(SIGBUS)
  return signal == SIGSEGV || signal == SIGBUS;
#else
  return signal == SIGSEGV;
#endif
}

/// Runs a line of a shell, whose standard error goes where its standard output goes.
inline program_result run_line(const std::string& words) {
  const std::string line = words + " 2>&1";
  program_result result;
#if defined(_WIN32)
  std::FILE* const pipe = ::_popen(line.c_str(), "rb");
#else
  std::FILE* const pipe = ::popen(line.c_str(), "r");
#endif
  if (pipe == nullptr) {
    result.text = "it could not be started: " + std::string(std::strerror(errno));
    return result;
  }
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) != 0;) {
    result.text.append(buffer, n);
  }
#if defined(_WIN32)
  result.exit_code = ::_pclose(pipe);
  if (result.exit_code == -1) {
    result.text += "its end could not be waited for: " + std::string(std::strerror(errno));
  }
  result.signal = signal_behind(result.exit_code);
  result.exit_code = result.signal != 0 ? -1 : result.exit_code;
  std::string::size_type at = 0;  // the C library writes a line's end as two characters
  while ((at = result.text.find("\r\n", at)) != std::string::npos) {
    result.text.erase(at, 1);
  }
#else
  const int status = ::pclose(pipe);
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
#endif
  return result;
}

/// `environment` is in the form of a shell: "NAME=value NAME=value", and no value holds a space.
inline program_result run_file(const std::string& path, const std::string& name,
                               const std::string& environment = "") {
#if defined(_WIN32)
  std::string words;  // of the command processor: a `set` for each
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = environment.find(' ', at);
    words += "set " + environment.substr(at, end - at) + "&& ";
    at = end == std::string::npos ? end : end + 1;
  }
  return run_line(words + "\"" + path + "\" " + name);
#else
  const char* const emulator = std::getenv("THRUM_TEST_EMULATOR");
  return run_line(environment + " exec " + (emulator == nullptr ? "" : emulator) + " '" + path +
                  "' " + name);
#endif
}

inline program_result run_program(const std::string& name, const std::string& environment = "") {
  return run_file(THRUM_PROGRAMS_PATH, name, environment);
}

}  // namespace support

#endif
