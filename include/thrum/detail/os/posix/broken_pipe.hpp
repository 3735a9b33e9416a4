// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Calling what may raise SIGPIPE, without that signal.
//
// The signal would end the program, and whether it is ignored belongs to the program, not to a
// library in it. The thread blocks the signal for the length of the call, and takes back the one
// that the call made:
//   - if the thread had not blocked it before, none was pending for it, so the pending one is ours;
//   - if it had, and one was pending, ours has become one with that, which stays.
// A signal for the thread is taken before one for the process, so a SIGPIPE from another process is safe.
// Price: two system calls for each call. For systems on which the signal goes to the thread, and
// which let one take it without waiting.
#ifndef THRUM_DETAIL_OS_POSIX_BROKEN_PIPE_HPP
#define THRUM_DETAIL_OS_POSIX_BROKEN_PIPE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX || THRUM_OS_FREEBSD

#include <thrum/detail/os/result.hpp>

#include <cerrno>
#include <ctime>

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// call(), which may raise SIGPIPE for the thread, without that signal. `raised(result)`: it may
/// have.
template <class Call, class Raised>
THRUM_NOINLINE io_result without_broken_pipe(Call call, Raised raised) noexcept {
  ::sigset_t broken_pipe;
  ::sigset_t before;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  bool was_pending = false;
  const bool was_blocked = ::sigismember(&before, SIGPIPE) == 1;
  if (was_blocked) {
    ::sigset_t pending;
    was_pending = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGPIPE) == 1;
  }
  const io_result result = call();
  if (!was_pending && raised(result)) {
    const ::timespec at_once{};
    while (::sigtimedwait(&broken_pipe, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  if (!was_blocked) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  return result;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX || THRUM_OS_FREEBSD
#endif  // THRUM_DETAIL_OS_POSIX_BROKEN_PIPE_HPP
