// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The end of the process, and its doubling on systems with fork.
//
// What exit() does in a program with goroutines
//   EX1  It does all that it does in any C++ program, in its order, on the thread that called it:
//        destructors of that thread's thread-local objects, functions of atexit, destructors of
//        static objects (which flush std::cout), then the C library flushes its streams. Nothing is
//        left out, and the status is kept.
//   EX2  Before that, right after the thread-local objects, goroutines are made to stand still:
//        those of the runtime that the caller belongs to, and those under run(). A goroutine
//        that comes to an operation of the library stops there; one that computes is stopped by a
//        signal; one in a call that blocks stops when that returns. So none of them uses what is
//        being destroyed. Their own stacks are not unwound.
//   EX3  It does not wait for a call that blocks: a goroutine that reads standard input does not
//        hold it up. One that computes and cannot be interrupted does, for a second at most.
//   EX4  A goroutine that stands still may hold a lock, or be waited for by a handler. So when the
//        thread that exits has waited for a tenth of a second for anything but the time, or has
//        done next to nothing for two seconds, all others go on, as threads do under exit().
//   EX5  Inside a handler or a destructor a goroutine counts as its thread, as inside blocking().
//        A runtime object that is destroyed there stops as ever; only if it is the one whose
//        goroutine called exit(), it is left as it is.
//   EX6  A goroutine that calls exit() while another one does waits for the end of the process.
//   EX7  In a child process after fork, where the threads of the runtime are not, exit() flushes
//        standard output and ends the process.
// See sched/life/process_exit.hpp for how they are stopped. std::quick_exit, _Exit and abort are as
// ever.
//
// How it comes first: exit() calls what was registered in reverse order, and first of all the
// destructors of the calling thread's thread-local objects; from there the hook is registered once
// more, so that it comes before everything that was registered meanwhile. A thread that has never
// started a runtime and belongs to none has no such object: if it calls exit(), what was registered
// after the first runtime is called before goroutines stand still.
//
// With glibc all of this. With musl, which destroys no thread-local objects for exit() and does not
// report the status:
//   what was registered, or made, after the first runtime comes before goroutines stand still (EX2);
//   so a goroutine may not call exit() where its runtime is a static object (EX5);
//   a thread that is inside a read of standard input by the C library's streams is waited for (EX3);
//   if two threads call exit(), either may end the process (EX6);
//   exit() goes on in a forked child as in any program, and destroys static objects (EX7).
//
// Rejected: to flush and to end the process at once, as Go does. It loses what std::cout holds,
// what a profiler writes at exit, and the mode of the terminal.
#ifndef THRUM_DETAIL_OS_EXIT_HPP
#define THRUM_DETAIL_OS_EXIT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <climits>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Ends the process with that status, without destructors of static objects, which other threads
/// may be using. What was written to standard output is not lost, unless a thread holds its lock.
[[noreturn]] [[gnu::cold]] void exit_now(int status) noexcept;

/// The status that the hook gets where the C library does not report it.
inline constexpr int unknown_exit_status = INT_MIN;

/// Called by exit(), with its status; may be called several times.
using exit_hook = void (*)(int status) noexcept;

void register_exit_hook(exit_hook hook) noexcept;

/// exit() does not wait for a thread that is inside a read of standard input: the C library, since
/// glibc 2.38, takes the lock of each stream before it looks whether there is anything to write.
void let_exit_pass_standard_input() noexcept;

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

/// Calls f() in the child after each fork.
THRUM_OUT_OF_LINE void call_after_fork(void (*in_child)()) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
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
#endif

#endif  // THRUM_OS_POSIX

#if THRUM_OS_WINDOWS

#include <climits>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// On Windows, as with musl, atexit calls the hook, without a status, and nothing brings it to the front:
// what was registered, or made, after the first runtime comes before goroutines stand still. A thread's
// own objects could not do that: exit() does not begin with them, and mingw's gcc gives their memory back
// before it destroys them, at the end of each thread.

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
#endif  // THRUM_DETAIL_OS_EXIT_HPP
