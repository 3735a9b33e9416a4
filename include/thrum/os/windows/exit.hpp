// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The end of the process.
//
// What exit() does in a program with goroutines is told in os/posix/exit.hpp, for all systems. Here, as
// with C libraries that tell nobody the status, the hook comes by atexit; destructors of a thread's own
// objects bring it to the front.
#ifndef THRUM_OS_WINDOWS_EXIT_HPP
#define THRUM_OS_WINDOWS_EXIT_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <climits>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Ends the process with that status, without destructors of static objects, which other threads
/// may be using. What was written to standard output is not lost, unless a thread holds its lock for a
/// tenth of a second.
[[noreturn]] [[gnu::cold]] void exit_now(int status) noexcept;

/// What the hook is told, as the C library does not say the status.
inline constexpr int unknown_exit_status = INT_MIN;

/// Called by exit(); may be called several times.
using exit_hook = void (*)(int status) noexcept;

void register_exit_hook(exit_hook hook) noexcept;

/// Nothing to do: exit() does not wait for a thread that reads.
inline void let_exit_pass_standard_input() noexcept {}

/// Brings the hook to the front when the calling thread calls exit().
class exit_watch {
 public:
  ~exit_watch();
  void watch(exit_hook hook) noexcept { hook_ = hook; }
  void forget() noexcept { hook_ = nullptr; }

 private:
  exit_hook hook_ = nullptr;
};

THRUM_NOINLINE inline exit_watch& this_threads_exit_watch() noexcept {
  asm volatile("");
  static thread_local exit_watch watch;
  return watch;
}

/// Nothing to do: the system has no fork.
inline void call_after_fork(void (*)()) noexcept {}

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/exit_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_EXIT_HPP
