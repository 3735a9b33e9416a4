// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/exit.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_WINDOWS_EXIT_DEFINITION_HPP
#define THRUM_OS_WINDOWS_EXIT_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/exit.hpp>

#include <cstdio>
#include <cstdlib>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The C library has no way to try whether a stream's lock is free: so another thread waits for it.
THRUM_COLD THRUM_OUT_OF_LINE void exit_now(int status) noexcept {
  constexpr ::DWORD patience_ms = 100;
  constexpr ::SIZE_T stack_bytes = 65'536;
  const auto flush = [](void*) -> ::DWORD {
    std::fflush(stdout);
    return 0;
  };
  const ::HANDLE flushing = ::CreateThread(nullptr, stack_bytes, flush, nullptr,
                                           STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (flushing != nullptr) {
    ::WaitForSingleObject(flushing, patience_ms);
  }
  // Not ExitProcess, which ends the other threads and then runs code of libraries that may wait for
  // them.
  ::TerminateProcess(::GetCurrentProcess(), static_cast<::UINT>(status));
  std::abort();
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void register_exit_hook(exit_hook hook) noexcept {
  static exit_hook only;
  only = hook;
  std::atexit([] { only(unknown_exit_status); });
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif
