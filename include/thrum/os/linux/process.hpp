// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Child processes on Linux: the system calls, with results as in descriptor.hpp.
//
// A pidfd is a descriptor that stands for a child and becomes readable when it has ended (Linux
// 5.3; seccomp and emulators may refuse it). Calls here take one beside the number, or
// no_descriptor; with it they cannot meet another process that got the number later.
#ifndef THRUM_OS_LINUX_PROCESS_HPP
#define THRUM_OS_LINUX_PROCESS_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/linux/descriptor.hpp>

#if THRUM_OS_LINUX

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a child is to be. Strings and arrays as for execve.
struct spawn_request {
  char* const* arguments = nullptr;    ///< the first one names the program
  char* const* environment = nullptr;  ///< null: ours
  const char* directory = nullptr;     ///< null: ours
  /// What becomes its standard input, output and error; no_descriptor: ours. None is a standard
  /// stream other than the one it replaces.
  int streams[3] = {no_descriptor, no_descriptor, no_descriptor};
  bool errors_to_output = false;  ///< standard error goes where standard output goes
};

/// The number of this process; another one after a fork.
std::int64_t own_process() noexcept;

/// Starts a program; its number, or an errno value below zero, also for what exec says (under
/// qemu-user that is lost, and the child exits with 127). A name without a slash is looked for in
/// our PATH. The child blocks no signal and takes SIGURG as usual. Blocks until the program has
/// been loaded.
io_result spawn(const spawn_request& request) noexcept;

/// Whether the system knows pidfds, as far as was seen.
inline constinit std::atomic<bool> has_pidfd{true};

/// A pidfd, closed by exec.
io_result open_process(std::int64_t pid) noexcept;

/// How a child ended: by exit(code), or killed by a signal.
struct process_end {
  int code = 0;
  int signal = 0;
  bool dumped_core = false;
};

/// Waits for the end of a child: 0, or -EAGAIN if it may not block and the child runs.
/// `reap`: the child's number is given back.
io_result wait_process(std::int64_t pid, int pidfd, bool may_block, bool reap,
                       process_end& end) noexcept;

/// Sends a signal to a child.
io_result signal_process(std::int64_t pid, int pidfd, int signal) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/process_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif
