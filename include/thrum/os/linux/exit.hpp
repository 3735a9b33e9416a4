// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Ending the program from a thread that must not run what exit() runs.
#ifndef THRUM_OS_LINUX_EXIT_HPP
#define THRUM_OS_LINUX_EXIT_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <cstdio>
#include <cstdlib>

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

}  // namespace thrum::inline THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_EXIT_HPP
