// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/exit.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_EXIT_DEFINITION_HPP
#define THRUM_OS_POSIX_EXIT_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/os/posix/exit.hpp>

#include <cstdio>
#include <cstdlib>

#include <pthread.h>
#if __has_include(<stdio_ext.h>)
#include <stdio_ext.h>
#endif

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_COLD THRUM_OUT_OF_LINE void exit_now(int status) noexcept {
  if (::ftrylockfile(stdout) == 0) {
    std::fflush(stdout);
    ::funlockfile(stdout);
  }
  std::_Exit(status);
}

/// glibc has a function that tells the status. A template, in which it may be missing.
template <class Call>
void register_exit_call(exit_hook hook, Call call) noexcept {
  if constexpr (requires { on_exit(call, nullptr); }) {
    on_exit(call, reinterpret_cast<void*>(hook));
  } else {
    static exit_hook only;
    only = hook;
    std::atexit([] { only(unknown_exit_status); });
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void register_exit_hook(exit_hook hook) noexcept {
  register_exit_call<void (*)(int, void*)>(
      hook, [](int status, void* to) { reinterpret_cast<exit_hook>(to)(status); });
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void let_exit_pass_standard_input() noexcept {
#if __has_include(<stdio_ext.h>)  // libraries without it take no lock of a stream that is read
  if (::ftrylockfile(stdin) == 0) {
    ::funlockfile(stdin);
  } else {
    ::__fsetlocking(stdin, FSETLOCKING_BYCALLER);
  }
#endif
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

#endif  // THRUM_OS_POSIX
#endif
