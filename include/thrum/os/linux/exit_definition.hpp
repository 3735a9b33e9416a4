// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/exit.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_EXIT_DEFINITION_HPP
#define THRUM_OS_LINUX_EXIT_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/os/linux/exit.hpp>

#include <cstdio>
#include <cstdlib>

#include <pthread.h>
#include <stdio_ext.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_COLD THRUM_OUT_OF_LINE void exit_now(int status) noexcept {
  if (::ftrylockfile(stdout) == 0) {
    std::fflush(stdout);
    ::funlockfile(stdout);
  }
  std::_Exit(status);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void register_exit_hook(exit_hook hook) noexcept {
  ::on_exit([](int status, void* call) { reinterpret_cast<exit_hook>(call)(status); },
            reinterpret_cast<void*>(hook));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void let_exit_pass_standard_input() noexcept {
  if (::ftrylockfile(stdin) == 0) {
    ::funlockfile(stdin);
  } else {
    ::__fsetlocking(stdin, FSETLOCKING_BYCALLER);
  }
}

THRUM_OUT_OF_LINE exit_watch::~exit_watch() {
  if (hook_ != nullptr) {
    register_exit_hook(hook_);
  }
}

THRUM_OUT_OF_LINE void call_after_fork(void (*in_child)()) noexcept {
  ::pthread_atfork(nullptr, nullptr, in_child);
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
