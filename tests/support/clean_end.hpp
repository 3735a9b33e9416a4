// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A test program may be killed at any moment and leaves nothing behind: no process, no file. A process
// of its own, the cleaner, waits for the program's end, and then kills what the program has started and
// removes the folder that all temporary files are in.
//
// The cleaner hears of the end by a pipe that only the program holds. It knows a process that was
// started by a variable of that process's environment (Linux; others are asked to end by their pipes).
// A child that is forked and runs no other program has no such variable: it calls end_with_parent().
#ifndef THRUM_TESTS_SUPPORT_CLEAN_END_HPP
#define THRUM_TESTS_SUPPORT_CLEAN_END_HPP

#if defined(_WIN32)

namespace support {

/// No fork, no cleaner: a folder is removed by the object that made it.
inline void clean_up_at_end() {}

}  // namespace support

#else

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace support {

/// Kills each process whose environment has this entry. True: there was one.
inline bool kill_marked(const std::string& entry) {
  bool found = false;
  std::error_code gone;
  for (std::filesystem::directory_iterator at("/proc", gone), end; at != end; at.increment(gone)) {
    const long pid = std::strtol(at->path().filename().c_str(), nullptr, 10);
    if (pid <= 1) {
      continue;
    }
    std::ifstream file(at->path() / "environ", std::ios::binary);
    const std::string all = '\0' + std::string(std::istreambuf_iterator<char>(file), {}) + '\0';
    if (all.find('\0' + entry + '\0') != std::string::npos) {
      found = ::kill(static_cast<::pid_t>(pid), SIGKILL) == 0 || found;
    }
  }
  return found;
}

/// The cleaner. Never returns.
[[noreturn]] inline void clean_up_after(int end_of_program, const std::string& folder,
                                        const std::string& entry) {
  ::setsid();  // a key that interrupts the program does not interrupt the cleaner
  for (const int each : {SIGINT, SIGHUP, SIGTERM, SIGQUIT}) {
    std::signal(each, SIG_IGN);
  }
  constexpr int most = 1024;
  for (int fd = 0; fd != most;
       ++fd) {  // above all the program's output, whose reader waits for its end
    if (fd != end_of_program) {
      ::close(fd);
    }
  }
  char none = 0;
  while (::read(end_of_program, &none, 1) > 0) {
  }
  constexpr int rounds = 100;  // one that is killed may just have started another
  for (int round = 0; round != rounds && kill_marked(entry); ++round) {
    ::usleep(10'000);
  }
  std::error_code gone;
  std::filesystem::remove_all(folder, gone);
  ::_exit(0);
}

/// Its ends are closed in what the program starts; where the system has that from their birth.
inline bool open_own_pipe(int (&ends)[2]) {
#if defined(__APPLE__)
  return ::pipe(ends) == 0 && ::fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 &&
         ::fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0;
#else
  return ::pipe2(ends, O_CLOEXEC) == 0;
#endif
}

/// Call it first in main(): temporary files go to a folder of this run, and the cleaner waits. Two
/// programs that run side by side have two folders.
inline void clean_up_at_end() {
  std::error_code none;
  std::string folder = (std::filesystem::temp_directory_path(none) / "thrum-tests-XXXXXX").string();
  int ends[2];
  if (none || ::mkdtemp(folder.data()) == nullptr || !open_own_pipe(ends)) {
    std::perror(
        "support::clean_up_at_end: no folder for temporary files; they stay if the tests are "
        "killed");
    return;
  }
  ::chmod(folder.c_str(), 0755);  // nginx's worker is another user
  const std::string name = "THRUM_TEST_RUN";
  ::setenv("TMPDIR", folder.c_str(), 1);
  ::setenv(name.c_str(), folder.c_str(), 1);
  // Twice: the cleaner is no child of the program, whose tests count its children.
  const ::pid_t between = ::fork();
  if (between == 0) {
    if (::fork() == 0) {
      ::close(ends[1]);
      clean_up_after(ends[0], folder, name + "=" + folder);
    }
    ::_exit(0);
  }
  ::close(ends[0]);
  ::waitpid(between, nullptr, 0);
  // The other end stays open until the program ends.
}

}  // namespace support

#endif

#endif
