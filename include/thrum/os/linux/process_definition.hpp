// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/process.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_PROCESS_DEFINITION_HPP
#define THRUM_OS_LINUX_PROCESS_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/base/order.hpp>
#include <thrum/os/linux/descriptor.hpp>
#include <thrum/os/linux/process.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_NOINLINE THRUM_OUT_OF_LINE std::int64_t own_process() noexcept { return ::getpid(); }

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result spawn(const spawn_request& request) noexcept {
  ::posix_spawn_file_actions_t actions;
  ::posix_spawnattr_t attributes;
  if (const int error = ::posix_spawn_file_actions_init(&actions); error != 0) {
    return -error;
  }
  if (const int error = ::posix_spawnattr_init(&attributes); error != 0) {
    ::posix_spawn_file_actions_destroy(&actions);
    return -error;
  }
  ::sigset_t none;
  ::sigset_t urgent;
  ::sigemptyset(&none);
  ::sigemptyset(&urgent);
  ::sigaddset(&urgent, SIGURG);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &urgent);
  int error =
      ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  for (int i = 0; i < 3 && error == 0; ++i) {
    if (request.streams[i] != no_descriptor) {
      error = ::posix_spawn_file_actions_adddup2(&actions, request.streams[i], i);
    }
  }
  if (error == 0 && request.errors_to_output) {
    error = ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  }
  if (error == 0 && request.directory != nullptr) {
    error = ::posix_spawn_file_actions_addchdir_np(&actions, request.directory);
  }
  ::pid_t child = 0;
  if (error == 0) {
    error = ::posix_spawnp(&child, request.arguments[0], &actions, &attributes, request.arguments,
                           request.environment != nullptr ? request.environment : ::environ);
  }
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error != 0 ? -error : child;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_process(std::int64_t pid) noexcept {
  constexpr long number = 434;     // pidfd_open, the same on every processor
  if (!has_pidfd.load(relaxed)) {  // relaxed: a fact about the system
    return -ENOSYS;
  }
  const io_result result = result_of(::syscall(number, static_cast<::pid_t>(pid), 0U));
  if (result == -ENOSYS) {
    has_pidfd.store(false, relaxed);  // relaxed: a fact about the system
  }
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result wait_process(std::int64_t pid, int pidfd, bool may_block,
                                                        bool reap, process_end& end) noexcept {
  constexpr auto by_pidfd =
      static_cast<::idtype_t>(3);  // P_PIDFD, newer than some systems' headers
  const int options = WEXITED | (may_block ? 0 : WNOHANG) | (reap ? 0 : WNOWAIT);
  ::siginfo_t info{};
  int result = -1;
  if (pidfd != no_descriptor) {
    result = ::waitid(by_pidfd, static_cast<::id_t>(pidfd), &info, options);
  }
  if (pidfd == no_descriptor || (result < 0 && errno == EINVAL)) {
    result = ::waitid(P_PID, static_cast<::id_t>(pid), &info, options);
  }
  if (result < 0) {
    return -errno;
  }
  if (info.si_pid == 0) {
    return -EAGAIN;
  }
  end.code = info.si_code == CLD_EXITED ? info.si_status : 0;
  end.signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
  end.dumped_core = info.si_code == CLD_DUMPED;
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result signal_process(std::int64_t pid, int pidfd,
                                                          int signal) noexcept {
  constexpr long number = 424;  // pidfd_send_signal, the same on every processor
  if (pidfd != no_descriptor) {
    const io_result result = result_of(::syscall(number, pidfd, signal, nullptr, 0U));
    if (result != -ENOSYS) {
      return result;
    }
  }
  return result_of(::kill(static_cast<::pid_t>(pid), signal));
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
