// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Child processes on Linux: waiting for them, and signals.
//
// A pidfd is a descriptor that stands for a child and becomes readable when it has ended (Linux
// 5.3; seccomp and emulators may refuse it). Calls here take one beside the number, or no_handle;
// with it they cannot meet another process that got the number later.
#ifndef THRUM_DETAIL_OS_LINUX_PROCESS_HPP
#define THRUM_DETAIL_OS_LINUX_PROCESS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/process.hpp>  // IWYU pragma: export
#include <thrum/detail/os/posix/result.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Whether the system knows pidfds, as far as was seen.
inline constinit base::set_once<bool> has_pidfd{true};

/// A pidfd, closed by exec.
io_result open_process(std::int64_t pid) noexcept;

/// Waits for the end of a child: 0, or -EAGAIN if it may not block and the child runs.
/// `reap`: the child's number is given back.
io_result wait_process(std::int64_t pid, handle pidfd, bool may_block, bool reap,
                       process_end& end) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <cerrno>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_process(std::int64_t pid) noexcept {
  constexpr long number = 434;  // pidfd_open, the same on every processor
  if (!has_pidfd.get()) {
    return -ENOSYS;
  }
  const io_result result = result_of(::syscall(number, static_cast<::pid_t>(pid), 0U));
  if (result == -ENOSYS) {
    has_pidfd.set(false);
  }
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result wait_process(std::int64_t pid, handle pidfd,
                                                        bool may_block, bool reap,
                                                        process_end& end) noexcept {
  constexpr auto by_pidfd =
      static_cast<::idtype_t>(3);  // P_PIDFD, newer than some systems' headers
  const int options = WEXITED | (may_block ? 0 : WNOHANG) | (reap ? 0 : WNOWAIT);
  ::siginfo_t info{};
  int result = -1;
  if (pidfd != no_handle) {
    result = ::waitid(by_pidfd, static_cast<::id_t>(pidfd), &info, options);
  }
  if (pidfd == no_handle || (result < 0 && errno == EINVAL)) {
    result = ::waitid(P_PID, static_cast<::id_t>(pid), &info, options);
  }
  if (result < 0) {
    return -errno;
  }
  if (info.si_pid == 0) {
    return -EAGAIN;
  }
  end = end_of(info.si_code, info.si_status);
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result signal_process(std::int64_t pid, handle pidfd,
                                                          int signal) noexcept {
  constexpr long number = 424;  // pidfd_send_signal, the same on every processor
  if (pidfd != no_handle) {
    const io_result result = result_of(::syscall(number, pidfd, signal, nullptr, 0U));
    if (result != -ENOSYS) {
      return result;
    }
  }
  return result_of(::kill(static_cast<::pid_t>(pid), signal));
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_LINUX_PROCESS_HPP
