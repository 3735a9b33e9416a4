// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Runs something that ends the process, in a child, and tells how it ended and what it wrote.
#ifndef THRUM_TESTS_SUPPORT_CHILD_HPP
#define THRUM_TESTS_SUPPORT_CHILD_HPP

#include <thrum/detail/base/config.hpp>

#include <csignal>
#include <cstddef>
#include <functional>
#include <string>

#if defined(_WIN32)
#include "support/catch.hpp"
#include "support/exit_codes.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#else
#include "support/process.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace support {

struct child_result {
  int signal = 0;  ///< that killed it; 0: it exited
  int exit_code = 0;
  std::string errors;  ///< what it wrote to standard error
};

#if defined(_WIN32)

/// How many calls the running test has made of the next function, with this one.
inline int count_child_call(const std::string& test) {
  static std::string of_test;
  static int calls = 0;
  calls = test == of_test ? calls + 1 : 1;
  of_test = test;
  return calls;
}

/// There is no fork: the program is started anew, for the test that runs, with the number of this call
/// in the environment. There the call of that number does the work; those before it do nothing.
inline child_result run_in_child(const std::function<void()>& work) {
  const std::string test = Catch::getResultCapture().getCurrentTestName();
  const int calls = count_child_call(test);
  child_result result;
  if (const char* const number = std::getenv("THRUM_TEST_CHILD"); number != nullptr) {
    if (std::atoi(number) == calls) {
      for (const int deadly : {SIGABRT, SIGSEGV, SIGILL}) {
        std::signal(deadly, SIG_DFL);  // the test framework's handlers would print a report
      }
      crash_without_debugger();
      work();
      std::_Exit(0);
    }
    return result;
  }
  std::string name;
  for (const char each : test) {
    name += std::strchr(",[]\\*", each) != nullptr ? std::string{'\\', each} : std::string{each};
  }
  const std::string line = "set THRUM_TEST_CHILD=" + std::to_string(calls) + "&& \"" +
                           std::string(_pgmptr) + "\" \"" + name + "\" 2>&1 1>nul";
  std::FILE* const pipe = ::_popen(line.c_str(), "rb");
  if (pipe == nullptr) {
    result.exit_code = -1;
    return result;
  }
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) != 0;) {
    result.errors.append(buffer, n);
  }
  result.exit_code = ::_pclose(pipe);
  constexpr int of_abort = 3;
  if (result.exit_code == of_abort) {
    result.exit_code = 0;
    result.signal = SIGABRT;
  }
  return result;
}

#else

/// Forks and calls `work` in the child, which exits with 0 if that returns. Call it before threads
/// are started, or with work that takes no lock.
inline child_result run_in_child(const std::function<void()>& work) {
  int ends[2];
  child_result result;
  if (::pipe(ends) != 0) {
    result.exit_code = -1;
    return result;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    end_with_parent();
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    for (const int deadly : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGTRAP}) {
      std::signal(deadly, SIG_DFL);  // the test framework's handlers would print a report
    }
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    work();
    ::_exit(0);
  }
  ::close(ends[1]);
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    result.errors.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  // An emulator of another processor adds a line of its own when a signal kills the program.
  if (const auto line = result.errors.find("qemu: uncaught target signal");
      line != std::string::npos) {
    result.errors.erase(line);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return result;
}

#endif

/// Whether `work` ends a process that checks its invariants with the report of this one, and with
/// nothing else. Without the checks it is not tried.
inline bool breaks([[maybe_unused]] const std::string& invariant,
                   [[maybe_unused]] const std::function<void()>& work) {
#if THRUM_CHECKS
  const child_result end = run_in_child(work);
  return end.signal == SIGABRT && end.errors.find(invariant) != std::string::npos;
#else
  return true;
#endif
}

}  // namespace support

#endif  // THRUM_TESTS_SUPPORT_CHILD_HPP
