// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The end of the process, and its doubling, on Linux.
//
// exit() destroys static objects while other threads go on using them. So when it finds goroutines
// alive, it ends as a Go program does: streams are flushed, and nothing is destroyed. exit() calls
// what was registered in reverse order, and first of all the destructors of the calling thread's
// thread-local objects; from there the hook is registered once more, so that it comes before
// everything that was registered meanwhile.
#ifndef THRUM_OS_LINUX_EXIT_HPP
#define THRUM_OS_LINUX_EXIT_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <cstdio>
#include <cstdlib>

#include <pthread.h>

namespace thrum::inline THRUM_ABI::os {

/// Ends the process with that status, without destructors of static objects, which other threads
/// may be using. What was written to standard output is not lost, unless a thread holds its lock.
[[noreturn]] THRUM_COLD inline void exit_now(int status) noexcept {
  if (::ftrylockfile(stdout) == 0) {
    std::fflush(stdout);
    ::funlockfile(stdout);
  }
  std::_Exit(status);
}

/// Whether exit() must not destroy anything.
using exit_question = bool (*)() noexcept;

THRUM_NOINLINE inline void register_exit_hook(exit_question must_not_destroy) noexcept {
  ::on_exit(
      [](int status, void* question) {
        if (reinterpret_cast<exit_question>(question)()) {
          std::fflush(nullptr);
          std::_Exit(status);
        }
      },
      reinterpret_cast<void*>(must_not_destroy));
}

/// Brings the hook to the front when the calling thread calls exit().
class exit_watch {
 public:
  ~exit_watch() {
    if (question_ != nullptr) {
      register_exit_hook(question_);
    }
  }
  void watch(exit_question question) noexcept { question_ = question; }
  void forget() noexcept { question_ = nullptr; }

 private:
  exit_question question_ = nullptr;
};

THRUM_NOINLINE inline exit_watch& this_threads_exit_watch() noexcept {
  asm volatile("");
  static thread_local exit_watch watch;
  return watch;
}

/// Calls f() in the child after each fork.
inline void call_after_fork(void (*in_child)()) noexcept {
  ::pthread_atfork(nullptr, nullptr, in_child);
}

}  // namespace thrum::inline THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_EXIT_HPP
