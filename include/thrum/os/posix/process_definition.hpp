// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/process.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_PROCESS_DEFINITION_HPP
#define THRUM_OS_POSIX_PROCESS_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/process.hpp>
#include <thrum/os/posix/result.hpp>

#include <cstdint>

#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#if __has_include(<crt_externs.h>)
#include <crt_externs.h>
#else
extern "C" char** environ;
#endif

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE std::int64_t own_process() noexcept { return ::getpid(); }

// Where a handle cannot be made so that exec closes it, in one call, a child gets its streams only.
#if defined(POSIX_SPAWN_CLOEXEC_DEFAULT)
inline constexpr int spawn_closes_others = POSIX_SPAWN_CLOEXEC_DEFAULT;
#else
inline constexpr int spawn_closes_others = 0;
#endif

#if __has_include(<crt_externs.h>)  // of macOS, where a shared library has no environ
inline char** own_environment() noexcept { return *::_NSGetEnviron(); }
#else
inline char** own_environment() noexcept { return ::environ; }
#endif

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
  sigemptyset(&none);  // these are macros on macOS
  sigemptyset(&urgent);
  sigaddset(&urgent, SIGURG);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &urgent);
  int error = ::posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | spawn_closes_others));
#if defined(POSIX_SPAWN_CLOEXEC_DEFAULT)
  for (int i = 0; i < 3 && error == 0; ++i) {
    error = ::posix_spawn_file_actions_addinherit_np(&actions, i);
  }
#endif
  for (int i = 0; i < 3 && error == 0; ++i) {
    if (request.streams[i] != no_handle) {
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
    error =
        ::posix_spawnp(&child, request.arguments[0], &actions, &attributes, request.arguments,
                       request.environment != nullptr ? request.environment : own_environment());
  }
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error != 0 ? -error : child;
}

THRUM_OUT_OF_LINE io_result kill_process(std::int64_t pid, handle child) noexcept {
  return signal_process(pid, child, SIGKILL);
}

THRUM_OUT_OF_LINE io_result ask_process_to_end(std::int64_t pid, handle child) noexcept {
  return signal_process(pid, child, SIGTERM);
}

THRUM_OUT_OF_LINE process_end end_of(int code, int status) noexcept {
  process_end end;
  end.code = code == CLD_EXITED ? status : 0;
  end.signal = code == CLD_EXITED ? 0 : status;
  end.dumped_core = code == CLD_DUMPED;
  return end;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_POSIX
#endif  // THRUM_OS_POSIX_PROCESS_DEFINITION_HPP
