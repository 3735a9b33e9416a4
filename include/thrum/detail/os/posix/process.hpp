// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Child processes: how one is started, and how it ended.
#ifndef THRUM_DETAIL_OS_POSIX_PROCESS_HPP
#define THRUM_DETAIL_OS_POSIX_PROCESS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>

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
/// Whether a read has found that no program has the other end open any more.
bool is_terminal_end(io_result result) noexcept;

/// Ends it, whatever it does.
io_result kill_process(std::int64_t pid, handle child) noexcept;

/// Asks it to end, which it may do in its own way.
io_result ask_process_to_end(std::int64_t pid, handle child) noexcept;

/// What SIGCHLD's si_code and si_status say of a child that has ended.
process_end end_of(int code, int status) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/thread_parts.hpp>

#include <cstdlib>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#if __has_include(<crt_externs.h>)  // macOS
#include <crt_externs.h>
#else
extern "C" char** environ;
#endif

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE std::int64_t own_process() noexcept { return ::getpid(); }

// Where a handle cannot be made so that exec closes it, in one call, a child gets its streams only.
#if __has_include(<crt_externs.h>)
inline constexpr int spawn_closes_others = POSIX_SPAWN_CLOEXEC_DEFAULT;
// A shared library has no environ.
inline char** own_environment() noexcept { return *::_NSGetEnviron(); }
#else
inline constexpr int spawn_closes_others = 0;
inline char** own_environment() noexcept { return ::environ; }
#endif

/// 0 or an errno value. A template, in which a function may be missing that newer systems have.
template <class Actions>
int begin_in(Actions& actions, const char* directory) noexcept {
  if constexpr (requires { posix_spawn_file_actions_addchdir_np(&actions, directory); }) {
    return posix_spawn_file_actions_addchdir_np(&actions, directory);
  } else {
    return ENOSYS;
  }
}

/// Where what a child gets besides its streams begins.
inline constexpr std::size_t first_extra_handle = 3;

/// Copies of what a child gets from 3 on, with numbers that are not overwritten while others of them
/// are put in their places. As many as there are, or an error.
class extra_handles {
 public:
  extra_handles() noexcept = default;
  extra_handles(const extra_handles&) = delete;
  extra_handles& operator=(const extra_handles&) = delete;
  ~extra_handles() {
    for (std::size_t i = 0; i != used_; ++i) {
      ::close(copies_[i]);
    }
  }

  /// 0 or an errno value.
  int add_to(::posix_spawn_file_actions_t& actions, const handle* extra, std::size_t n) noexcept {
    if (n > most) {
      return EMFILE;
    }
    for (; used_ != n; ++used_) {
      constexpr std::size_t first = first_extra_handle;
      const int copy = ::fcntl(extra[used_], F_DUPFD_CLOEXEC, static_cast<int>(first + n));
      if (copy < 0) {
        return errno;
      }
      copies_[used_] = copy;
      const int error =
          ::posix_spawn_file_actions_adddup2(&actions, copy, static_cast<int>(first + used_));
      if (error != 0) {
        ++used_;
        return error;
      }
    }
    return 0;
  }

 private:
  static constexpr std::size_t most = 256;
  int copies_[most];
  std::size_t used_ = 0;
};

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result spawn(const spawn_request& request) noexcept {
  extra_handles extra;
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
  int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | spawn_closes_others;
  int error = 0;
  if (request.terminal != nullptr) {
#if defined(POSIX_SPAWN_SETSID)
    flags |= POSIX_SPAWN_SETSID;
#else
    error = EOPNOTSUPP;
#endif
  } else if (request.new_group) {
    flags |= POSIX_SPAWN_SETPGROUP;
    error = ::posix_spawnattr_setpgroup(&attributes, 0);
  }
  if (error == 0) {
    error = ::posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
  }
#if __has_include(<crt_externs.h>)
  for (int i = 0; i < 3 && error == 0; ++i) {
    error = ::posix_spawn_file_actions_addinherit_np(&actions, i);
  }
#endif
  for (int i = 0; i < 3 && error == 0; ++i) {
    if (request.streams[i] != no_handle) {
      error = ::posix_spawn_file_actions_adddup2(&actions, request.streams[i], i);
    } else if (request.terminal != nullptr) {
      error = ::posix_spawn_file_actions_addopen(&actions, i, request.terminal, O_RDWR, 0);
    }
  }
  if (error == 0 && request.errors_to_output) {
    error = ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  }
  if (error == 0) {
    error = extra.add_to(actions, request.extra, request.extras);
  }
  // A session gets its terminal by opening it, and has it while a process has it open there. If no stream
  // does that, a number does it that nothing else of the child has: it is taken here meanwhile.
  int spare = -1;
  const bool opens_terminal = request.streams[0] == no_handle || request.streams[1] == no_handle ||
                              request.streams[2] == no_handle;
  if (error == 0 && request.terminal != nullptr && !opens_terminal) {
    spare = ::fcntl(request.streams[0], F_DUPFD_CLOEXEC,
                    static_cast<int>(first_extra_handle + request.extras));
    error = spare < 0
                ? errno
                : ::posix_spawn_file_actions_addopen(&actions, spare, request.terminal, O_RDWR, 0);
  }
  if (error == 0 && request.directory != nullptr) {
    error = begin_in(actions, request.directory);
  }
  ::pid_t child = 0;
  if (error == 0) {
    char* const* const environment =
        request.environment != nullptr ? request.environment : own_environment();
    error = start_unless_busy(
        [&] {
          return ::posix_spawnp(&child, request.arguments[0], &actions, &attributes,
                                request.arguments, environment);
        },
        [](std::int64_t ns) { sleep_ns(ns); });
  }
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (spare >= 0) {
    ::close(spare);
  }
  return error != 0 ? -error : child;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result signal_group(std::int64_t group, int signal) noexcept {
  return result_of(::kill(-static_cast<::pid_t>(group), signal));
}

THRUM_OUT_OF_LINE io_result kill_group(std::int64_t group) noexcept {
  return signal_group(group, SIGKILL);
}

THRUM_OUT_OF_LINE io_result ask_group_to_end(std::int64_t group) noexcept {
  return signal_group(group, SIGTERM);
}

/// Closed by exec from the first moment: a child that another thread starts now must not hold it.
inline int open_closed_by_exec() noexcept {
#if __has_include(<crt_externs.h>)
  return ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);  // posix_openpt refuses the flag
#else
  return ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
#endif
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_terminal(char* path, std::size_t room) noexcept {
  const int fd = open_closed_by_exec();
  if (fd < 0) {
    return -errno;
  }
  int error = 0;
  if (::fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 || ::grantpt(fd) != 0 || ::unlockpt(fd) != 0) {
    error = errno;
  } else {
    error = ::ptsname_r(fd, path, room);
  }
  if (error != 0) {
    ::close(fd);
    return -error;
  }
  return fd;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result resize_terminal(handle fd, unsigned rows,
                                                           unsigned columns) noexcept {
  ::winsize size{};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  return result_of(::ioctl(fd, TIOCSWINSZ, &size));
}

THRUM_OUT_OF_LINE bool is_terminal_end(io_result result) noexcept { return result == -EIO; }

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
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_PROCESS_HPP
