// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Child processes: how one is started, and how it ended.
#ifndef THRUM_OS_POSIX_PROCESS_HPP
#define THRUM_OS_POSIX_PROCESS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/result.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a child is to be. Strings and arrays as for execve.
struct spawn_request {
  char* const* arguments = nullptr;    ///< the first one names the program
  char* const* environment = nullptr;  ///< null: ours
  const char* directory = nullptr;     ///< null: ours
  /// What becomes its standard input, output and error; no_handle: ours. None is a standard
  /// stream other than the one it replaces.
  handle streams[3] = {no_handle, no_handle, no_handle};
  bool errors_to_output = false;  ///< standard error goes where standard output goes
  bool new_group = false;         ///< it leads a process group of its own
  const handle* extra = nullptr;  ///< what becomes its descriptors from 3 on
  std::size_t extras = 0;
  /// The path of a terminal, or null: what is ours of its streams is that, it leads a session of its
  /// own, and the terminal is the session's, where opening it makes it so.
  const char* terminal = nullptr;
};

/// Whether spawn() would replace what `h` stands for before the child's stream of that number, of
/// 0 to 2, gets it: then it is to be duplicated.
constexpr bool is_replaced_before(handle h, int number) noexcept {
  return h >= 0 && h < 3 && h != number;
}

/// The number of this process; another one after a fork.
std::int64_t own_process() noexcept;

/// What start() returns, repeated for a quarter of a second while that is ETXTBSY. A program that this process has
/// just written is busy while a child that another thread starts holds a copy of the descriptor, from its fork to its
/// exec. pause(ns) waits, twice as long each time.
template <class Start, class Pause>
int start_unless_busy(Start start, Pause pause) noexcept {
  constexpr std::int64_t first_ns = 1'000'000;
  constexpr std::int64_t last_ns = 128'000'000;
  int error = start();
  for (std::int64_t ns = first_ns; error == ETXTBSY && ns <= last_ns; ns *= 2) {
    pause(ns);
    error = start();
  }
  return error;
}

/// Starts a program; its number, or an errno value below zero, also for what exec says (under
/// qemu-user that is lost, and the child exits with 127). A name without a slash is looked for in
/// our PATH. The child blocks no signal and takes SIGURG as usual. Blocks until the program has
/// been loaded.
io_result spawn(const spawn_request& request) noexcept;

/// How a child ended: by exit(code), or killed by a signal.
struct process_end {
  int code = 0;
  int signal = 0;
  bool dumped_core = false;
};

/// Sends a signal to a child: the system's own file says how.
io_result signal_process(std::int64_t pid, handle child, int signal) noexcept;

/// Whether a child can lead a process group.
inline constexpr bool has_process_groups = true;

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

/// Ends it, whatever it does.
io_result kill_process(std::int64_t pid, handle child) noexcept;

/// Asks it to end, which it may do in its own way.
io_result ask_process_to_end(std::int64_t pid, handle child) noexcept;

/// What SIGCHLD's si_code and si_status say of a child that has ended.
process_end end_of(int code, int status) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/process_definition.hpp>
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_OS_POSIX_PROCESS_HPP
