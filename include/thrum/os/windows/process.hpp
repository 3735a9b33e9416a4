// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Child processes: how one is started, and how it ended.
//
// A child's number stands for it as long as somebody has a handle of it; so a table has those, from the
// start of a child until it is reaped. There are no signals: two ask for an end, SIGTERM and SIGKILL, and
// both end a child at once; how it ended is then said as if they were.
#ifndef THRUM_OS_WINDOWS_PROCESS_HPP
#define THRUM_OS_WINDOWS_PROCESS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/handle.hpp>
#include <thrum/os/windows/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a child is to be. Strings and arrays as for execve, in UTF-8.
struct spawn_request {
  char* const* arguments = nullptr;    ///< the first one names the program
  char* const* environment = nullptr;  ///< null: ours
  const char* directory = nullptr;     ///< null: ours
  /// What becomes its standard input, output and error; no_handle: ours.
  handle streams[3] = {no_handle, no_handle, no_handle};
  bool errors_to_output = false;  ///< standard error goes where standard output goes
  bool new_group = false;         ///< it leads a process group of its own
  const handle* extra = nullptr;  ///< what becomes its descriptors from 3 on
  std::size_t extras = 0;
  /// The path of a terminal, or null: what is ours of its streams is that, it leads a session of its
  /// own, and the terminal is the session's, where opening it makes it so.
  const char* terminal = nullptr;
};

/// False: the streams of a child are its own handles.
constexpr bool is_replaced_before(handle, int) noexcept { return false; }

/// Whether a child can lead a process group.
inline constexpr bool has_process_groups = false;

/// Sends a signal to a process group.
io_result signal_group(std::int64_t group, int signal) noexcept;
/// Ends all that are in it.
io_result kill_group(std::int64_t group) noexcept;
/// Asks them to end.
io_result ask_group_to_end(std::int64_t group) noexcept;

/// A new terminal of the program's own: this end, which does not block, and the path of the other; or an
/// error.
io_result open_terminal(char* path, std::size_t room) noexcept;
/// How many rows and columns of characters programs think that it shows.
io_result resize_terminal(handle fd, unsigned rows, unsigned columns) noexcept;
/// Whether a read says so that nobody has the other end open any more.
bool is_terminal_end(io_result result) noexcept;

/// The number of this process.
std::int64_t own_process() noexcept;

/// Starts a program; its number, or an error below zero. It has these handles and no others of ours. A
/// name without a folder is looked for as the system does. Blocks until the program has been loaded.
io_result spawn(const spawn_request& request) noexcept;

/// How a child ended: by exit(code), or killed by one of the two signals.
struct process_end {
  int code = 0;
  int signal = 0;
  bool dumped_core = false;
};

/// A handle of its own for a child, which is taken for readable when that has ended.
io_result open_process(std::int64_t pid) noexcept;

/// Waits for the end of a child: 0, or would_block if it may not block and the child runs; or
/// no_such_process. `reap`: the child's number is given back.
io_result wait_process(std::int64_t pid, handle child, bool may_block, bool reap,
                       process_end& end) noexcept;

/// SIGTERM and SIGKILL; with 0 only says whether there is such a child. `invalid` for others.
io_result signal_process(std::int64_t pid, handle child, int signal) noexcept;

/// Ends it, whatever it does.
io_result kill_process(std::int64_t pid, handle child) noexcept;

/// Ends it as well.
io_result ask_process_to_end(std::int64_t pid, handle child) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/process_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_PROCESS_HPP
