// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a system of which we ask no more than POSIX does not have: it does not watch children (their user
// looks at them in intervals) or files, and sends no file inside of itself (it is read and sent).
#ifndef THRUM_DETAIL_OS_POSIX_ABSENT_HPP
#define THRUM_DETAIL_OS_POSIX_ABSENT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && THRUM_OS_PORTABLE

#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/process.hpp>  // IWYU pragma: export
#include <thrum/detail/os/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Is never open.
class child_watch {
 public:
  constexpr child_watch() noexcept = default;

  bool is_open() const noexcept { return false; }
  io_result open() noexcept { return not_supported; }
  void close() noexcept {}
  io_result add(handle, void*) noexcept { return not_supported; }
  void remove(handle) noexcept {}
  void wake() noexcept {}
  std::size_t sleep(void**, std::size_t, int) noexcept { return 0; }
};

struct file_watch {
  static io_result open() noexcept { return not_supported; }
  static io_result add(handle, const char*) noexcept { return not_supported; }
  static io_result remove(handle, int) noexcept { return not_supported; }
  static io_result read(handle, std::byte*, std::size_t) noexcept { return not_supported; }
  static void close() noexcept {}
};
inline const std::byte* take_change(const std::byte* at, file_change_seen&) noexcept { return at; }

inline io_result send_file(handle, handle, std::int64_t, std::size_t) noexcept {
  return not_supported;
}

/// Whether that is refused for files of this kind.
inline bool cannot_send_file(io_result sent) noexcept { return sent == not_supported; }

// Children, where nothing but their number stands for them.

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
#endif  // THRUM_DETAIL_OS_POSIX_ABSENT_HPP
