// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The end of the process.
//
// os/posix/exit.hpp says what exit() does in a program with goroutines, for all systems. Here, as
// with musl there, atexit calls the hook, without a status, and nothing brings it to the front:
// what was registered, or made, after the first runtime comes before goroutines stand still. A thread's
// own objects could not do that: exit() does not begin with them, and mingw's gcc gives their memory back
// before it destroys them, at the end of each thread.
#ifndef THRUM_DETAIL_OS_WINDOWS_EXIT_HPP
#define THRUM_DETAIL_OS_WINDOWS_EXIT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <climits>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Ends the process with that status, without destructors of static objects, which other threads
/// may be using. What was written to standard output is not lost, unless a thread holds its lock for a
/// tenth of a second.
[[noreturn]] [[gnu::cold]] void exit_now(int status) noexcept;

/// The status that the hook gets: the C library does not report it.
inline constexpr int unknown_exit_status = INT_MIN;

/// Called by exit(); may be called several times.
using exit_hook = void (*)(int status) noexcept;

void register_exit_hook(exit_hook hook) noexcept;

/// Nothing to do: exit() does not wait for a thread that reads.
inline void let_exit_pass_standard_input() noexcept {}

/// Nothing brings the hook to the front.
struct exit_watch {
  static constexpr void watch(exit_hook) noexcept {}
  static constexpr void forget() noexcept {}
};

constexpr exit_watch this_threads_exit_watch() noexcept { return {}; }

/// Nothing to do: the system has no fork.
inline void call_after_fork(void (*)()) noexcept {}

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>

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
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_EXIT_HPP
