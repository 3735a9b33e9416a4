// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Children, where nothing but their number stands for them.
#ifndef THRUM_DETAIL_OS_POSIX_PLAIN_PROCESS_HPP
#define THRUM_DETAIL_OS_POSIX_PLAIN_PROCESS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && THRUM_OS_PORTABLE

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/process.hpp>  // IWYU pragma: export
#include <thrum/detail/os/posix/result.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// not_supported.
io_result open_process(std::int64_t pid) noexcept;

/// Waits for the end of a child: 0, or would_block if it may not block and the child runs.
/// `reap`: the child's number is given back.
io_result wait_process(std::int64_t pid, handle child, bool may_block, bool reap,
                       process_end& end) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <signal.h>
#include <sys/wait.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE io_result open_process(std::int64_t) noexcept { return not_supported; }

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result wait_process(std::int64_t pid, handle, bool may_block,
                                                        bool reap, process_end& end) noexcept {
  ::siginfo_t info{};
  const io_result result =
      result_of(::waitid(P_PID, static_cast<::id_t>(pid), &info,
                         WEXITED | (may_block ? 0 : WNOHANG) | (reap ? 0 : WNOWAIT)));
  if (result < 0) {
    return result;
  }
  if (info.si_pid == 0) {
    return would_block;
  }
  end = end_of(info.si_code, info.si_status);
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result signal_process(std::int64_t pid, handle,
                                                          int signal) noexcept {
  return result_of(::kill(static_cast<::pid_t>(pid), signal));
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX && THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_POSIX_PLAIN_PROCESS_HPP
