// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// support/server_process.hpp, as POSIX says it.
#ifndef THRUM_TESTS_SUPPORT_POSIX_SERVER_PROCESS_HPP
#define THRUM_TESTS_SUPPORT_POSIX_SERVER_PROCESS_HPP

#include "support/descriptors.hpp"
#include "support/process.hpp"

#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace support {

class server_process {
 public:
  /// Starts a program with its arguments; from the main thread, as it dies with the thread that
  /// calls. `ready`: waits for a line with these words.
  explicit server_process(const std::vector<std::string>& words,
                          std::string_view ready = "listening on ") {
    int ends[2];
    if (!open_pipe(ends, waits::yes)) {
      return;
    }
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    id_ = ::fork();
    if (id_ == 0) {
      end_with_parent();
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
      if (::getppid() == parent) {
        ::execvp(arguments[0], arguments.data());
      }
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
    read_until(ready);
  }
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process() {
    stop();
    if (output_ >= 0) {
      ::close(output_);
    }
  }

  /// What follows the words in the line that says that it is ready; empty: it ended before.
  const std::string& address() const { return address_; }
  /// Everything up to that line.
  const std::string& text() const { return text_; }
  pid_t id() const { return id_; }

  /// Whether it has not ended by itself.
  bool is_alive() const {
    ::siginfo_t info{};
    return id_ > 0 &&
           ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }

  /// Tells it to end, as kill(1) does.
  void terminate() const {
    if (id_ > 0) {
      ::kill(id_, SIGTERM);
    }
  }

  /// Waits until it has ended by itself: its exit status, or -1 if a signal ended it.
  int wait() {
    int status = 0;
    if (id_ <= 0 || ::waitpid(std::exchange(id_, -1), &status, 0) < 0) {
      return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void stop() {
    if (id_ > 0) {
      ::kill(id_, SIGKILL);
      ::waitpid(id_, nullptr, 0);
      id_ = -1;
    }
  }

 private:
  void read_until(std::string_view ready) {
    char c = 0;
    std::string line;
    while (::read(output_, &c, 1) == 1) {
      text_ += c;
      if (c != '\n') {
        line += c;
        continue;
      }
      if (const std::size_t at = line.find(ready); at != std::string::npos) {
        address_ = line.substr(at + ready.size());
        return;
      }
      line.clear();
    }
  }

  pid_t id_ = -1;
  int output_ = -1;
  std::string address_;
  std::string text_;
};

}  // namespace support

#endif
