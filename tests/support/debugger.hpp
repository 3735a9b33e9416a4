// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A process that holds another one, as a debugger does.
#ifndef THRUM_TESTS_SUPPORT_DEBUGGER_HPP
#define THRUM_TESTS_SUPPORT_DEBUGGER_HPP

#include "support/catch.hpp"
#include "support/process.hpp"

#include <cstdint>

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace support {

/// A process that traces another one, as a debugger does: if that dies, it stays a zombie that its
/// parent does not see. Not where the system forbids it.
class debugger_of {
 public:
  explicit debugger_of(std::int64_t pid) {
    REQUIRE(::pipe(stay_) == 0);
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    self_ = ::fork();
    if (self_ == 0) {
      end_with_parent();
      ::close(stay_[1]);
      char mark = ::ptrace(PTRACE_SEIZE, static_cast<::pid_t>(pid), nullptr, nullptr) == 0 ? 1 : 0;
      if (::write(ready[1], &mark, 1) == 1) {
        ::_exit(static_cast<int>(::read(stay_[0], &mark, 1)));
      }
      ::_exit(1);
    }
    ::close(stay_[0]);
    char seized = 0;
    holds_ = ::read(ready[0], &seized, 1) == 1 && seized == 1;
    ::close(ready[0]);
    ::close(ready[1]);
  }
  debugger_of(const debugger_of&) = delete;
  debugger_of& operator=(const debugger_of&) = delete;
  ~debugger_of() { let_go(); }

  bool holds() const { return holds_; }
  void let_go() {
    if (self_ > 0) {
      ::close(stay_[1]);
      ::waitpid(self_, nullptr, 0);
      self_ = 0;
    }
  }

 private:
  int stay_[2] = {};
  ::pid_t self_ = 0;
  bool holds_ = false;
};

}  // namespace support

#endif
