// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A server in a process of its own, which says "listening on ADDRESS" when it is ready, and which
// is killed with the object. And whether a program is installed.
//
// Where programs need an emulator, THRUM_TEST_EMULATOR holds the words that go in front of ours.
#ifndef THRUM_TESTS_SUPPORT_SERVER_PROCESS_HPP
#define THRUM_TESTS_SUPPORT_SERVER_PROCESS_HPP

#include "support/descriptors.hpp"
#include "support/process.hpp"

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <sstream>
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

#ifdef THRUM_EXAMPLES_DIR
/// An example with its arguments, as words to be executed.
inline std::vector<std::string> example_words(const std::string& name,
                                              std::vector<std::string> arguments = {}) {
  std::vector<std::string> words;
  const char* const emulator = std::getenv("THRUM_TEST_EMULATOR");
  std::istringstream in(emulator == nullptr ? "" : emulator);
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  words.push_back(THRUM_EXAMPLES_DIR "/" + name);
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}
#endif

/// Whether the shell finds a program.
inline bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace support

#endif
