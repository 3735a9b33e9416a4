// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Runs something that ends the process, in a child, and tells how it ended and what it wrote.
#ifndef THRUM_TESTS_SUPPORT_CHILD_HPP
#define THRUM_TESTS_SUPPORT_CHILD_HPP

#include <thrum/base/config.hpp>

#include <csignal>
#include <cstddef>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace support {

struct child_result {
  int signal = 0;  ///< that killed it; 0: it exited
  int exit_code = 0;
  std::string errors;  ///< what it wrote to standard error
};

/// Forks and calls `work` in the child, which exits with 0 if that returns. Call it before threads
/// are started, or with work that takes no lock.
template <class Work>
child_result run_in_child(Work work) {
  int ends[2];
  child_result result;
  if (::pipe(ends) != 0) {
    result.exit_code = -1;
    return result;
  }
  const pid_t child = ::fork();
  if (child == 0) {
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

/// Whether `work` ends a process that checks its invariants with the report of this one, and with
/// nothing else. Without the checks it is not tried.
template <class Work>
bool breaks(const std::string& invariant, Work work) {
  if (!THRUM_CHECKS) {
    return true;
  }
  const child_result end = run_in_child(work);
  return end.signal == SIGABRT && end.errors.find(invariant) != std::string::npos;
}

}  // namespace support

#endif  // THRUM_TESTS_SUPPORT_CHILD_HPP
