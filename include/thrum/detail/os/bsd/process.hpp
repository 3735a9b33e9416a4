// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Children on macOS and FreeBSD. A kqueue that has only the child's end as its event stands for the
// child. When the child ends it becomes readable, and stays so: no call takes the event out.
//
// waitid() is not used: on macOS it returns also for a child that has been stopped.
#ifndef THRUM_DETAIL_OS_BSD_PROCESS_HPP
#define THRUM_DETAIL_OS_BSD_PROCESS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/process.hpp>  // IWYU pragma: export
#include <thrum/detail/os/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A handle that stands for a child and becomes readable at its end; closed by exec.
io_result open_process(std::int64_t pid) noexcept;

/// Waits for the end of a child: 0, or would_block if it may not block and the child runs.
/// `reap`: the child's number is given back.
io_result wait_process(std::int64_t pid, handle child, bool may_block, bool reap,
                       process_end& end) noexcept;

// child_watch: one thread sleeps until any of many children has ended.

/// A kqueue of the handles of children, which are kqueues themselves.
class child_watch {
 public:
  constexpr child_watch() noexcept = default;

  bool is_open() const noexcept;

  /// 0, or an error below zero.
  io_result open() noexcept;

  void close() noexcept;

  /// Has sleep() find `who` once the child has ended. 0, or an error below zero.
  io_result add(handle child, void* who) noexcept;
  void remove(handle child) noexcept;

  /// Ends the sleep that is under way, or the next one.
  void wake() noexcept;

  /// Sleeps until the first `who` is found, for at most timeout_ms if that is not below 0. Returns
  /// how many were found; perhaps none.
  std::size_t sleep(void** found, std::size_t most, int timeout_ms) noexcept;

 private:
  handle queue_ = no_handle;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/posix/descriptor.hpp>

#include <cerrno>
#include <ctime>

#include <fcntl.h>
#include <signal.h>
#include <sys/event.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_process(std::int64_t pid) noexcept {
  const io_result made = result_of(::kqueue());
  if (made < 0) {
    return made;
  }
  const handle queue = handle_of(made);
  struct ::kevent change {};
  EV_SET(&change, static_cast<std::uintptr_t>(pid), EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, nullptr);
  io_result result = result_of(::fcntl(queue, F_SETFD, FD_CLOEXEC));
  if (result >= 0) {
    result = result_of(::kevent(queue, &change, 1, nullptr, 0, nullptr));
  }
  if (result == -ESRCH) {
    // It has ended, and waits to be reaped: macOS does not find it any more.
    EV_SET(&change, 0, EVFILT_USER, EV_ADD, 0, 0, nullptr);
    result = result_of(::kevent(queue, &change, 1, nullptr, 0, nullptr));
    if (result >= 0) {
      EV_SET(&change, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, nullptr);
      result = result_of(::kevent(queue, &change, 1, nullptr, 0, nullptr));
    }
  }
  if (result < 0) {
    close(queue);
    return result;
  }
  return made;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result wait_process(std::int64_t pid, handle child,
                                                        bool may_block, bool reap,
                                                        process_end& end) noexcept {
  if (!reap) {
    const io_result own = child == no_handle ? open_process(pid) : io_result{child};
    if (own < 0) {
      return own;
    }
    const io_result seen = wait_for(handle_of(own), false, may_block ? -1 : 0);
    if (child == no_handle) {
      close(handle_of(own));
    }
    return seen > 0 ? 0 : seen == 0 ? would_block : seen;
  }
  int status = 0;
  const io_result found =
      result_of(::wait4(static_cast<::pid_t>(pid), &status, may_block ? 0 : WNOHANG, nullptr));
  if (found <= 0) {
    return found == 0 ? would_block : found;
  }
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.dumped_core = WIFSIGNALED(status) && WCOREDUMP(status);
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result signal_process(std::int64_t pid, handle,
                                                          int signal) noexcept {
  return result_of(::kill(static_cast<::pid_t>(pid), signal));
}

THRUM_OUT_OF_LINE bool child_watch::is_open() const noexcept { return queue_ != no_handle; }

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result child_watch::open() noexcept {
  const io_result made = result_of(::kqueue());
  if (made < 0) {
    return made;
  }
  queue_ = handle_of(made);
  struct ::kevent alarm {};
  EV_SET(&alarm, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, nullptr);
  io_result result = result_of(::fcntl(queue_, F_SETFD, FD_CLOEXEC));
  if (result >= 0) {
    result = result_of(::kevent(queue_, &alarm, 1, nullptr, 0, nullptr));
  }
  if (result < 0) {
    close();
    return result;
  }
  return 0;
}

THRUM_OUT_OF_LINE void child_watch::close() noexcept {
  if (queue_ != no_handle) {
    os::close(queue_);
  }
  queue_ = no_handle;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result child_watch::add(handle child, void* who) noexcept {
  struct ::kevent change {};
  EV_SET(&change, static_cast<std::uintptr_t>(child), EVFILT_READ, EV_ADD, 0, 0, who);
  return result_of(::kevent(queue_, &change, 1, nullptr, 0, nullptr));
}

THRUM_OUT_OF_LINE void child_watch::remove(handle child) noexcept {
  struct ::kevent change {};
  EV_SET(&change, static_cast<std::uintptr_t>(child), EVFILT_READ, EV_DELETE, 0, 0, nullptr);
  ::kevent(queue_, &change, 1, nullptr, 0, nullptr);
}

THRUM_OUT_OF_LINE void child_watch::wake() noexcept {
  struct ::kevent alarm {};
  EV_SET(&alarm, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, nullptr);
  ::kevent(queue_, &alarm, 1, nullptr, 0, nullptr);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::size_t child_watch::sleep(void** found, std::size_t most,
                                                                int timeout_ms) noexcept {
  constexpr std::size_t at_once = 64;
  struct ::kevent events[at_once];
  const ::timespec limit{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
  const int n =
      ::kevent(queue_, nullptr, 0, events, static_cast<int>(most < at_once ? most : at_once),
               timeout_ms < 0 ? nullptr : &limit);
  std::size_t count = 0;
  for (int i = 0; i < n; ++i) {
    if (events[i].udata != nullptr) {  // the alarm has none
      found[count++] = events[i].udata;
    }
  }
  return count;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_BSD
#endif  // THRUM_DETAIL_OS_BSD_PROCESS_HPP
