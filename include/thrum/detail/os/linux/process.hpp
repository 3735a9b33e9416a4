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
#include <thrum/detail/os/posix/descriptor.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/process.hpp>  // IWYU pragma: export
#include <thrum/detail/os/result.hpp>

#include <cstddef>
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

// child_watch: one thread sleeps until any of many children has ended.

/// An epoll of pidfds. A child that was added is removed before its pidfd is closed: a child of a
/// fork may have that open, and the epoll would go on to tell of it.
class child_watch {
 public:
  constexpr child_watch() noexcept = default;

  bool is_open() const noexcept { return poller_ != no_handle; }

  /// 0, or an errno value below zero.
  io_result open() noexcept;

  void close() noexcept;

  /// Has sleep() find `who` once the child has ended. 0, or an errno value below zero.
  io_result add(handle pidfd, void* who) noexcept;
  void remove(handle pidfd) noexcept;

  /// Ends the sleep that is under way, or the next one.
  void wake() noexcept;

  /// Sleeps until the first `who` is found, for at most timeout_ms if that is not below 0. Returns
  /// how many were found; perhaps none.
  std::size_t sleep(void** found, std::size_t most, int timeout_ms) noexcept;

 private:
  handle poller_ = no_handle;
  handle alarm_ = no_handle;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <cerrno>
#include <initializer_list>

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
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

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result child_watch::open() noexcept {
  poller_ = ::epoll_create1(EPOLL_CLOEXEC);
  alarm_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ::epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  if (poller_ < 0 || alarm_ < 0 || ::epoll_ctl(poller_, EPOLL_CTL_ADD, alarm_, &event) != 0) {
    const io_result error = -errno;
    close();
    return error;
  }
  return 0;
}

THRUM_OUT_OF_LINE void child_watch::close() noexcept {
  for (handle* const each : {&poller_, &alarm_}) {
    if (*each >= 0) {
      os::close(*each);
    }
    *each = no_handle;
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result child_watch::add(handle pidfd, void* who) noexcept {
  ::epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = who;
  return result_of(::epoll_ctl(poller_, EPOLL_CTL_ADD, pidfd, &event));
}

THRUM_OUT_OF_LINE void child_watch::remove(handle pidfd) noexcept {
  ::epoll_event ignored{};
  ::epoll_ctl(poller_, EPOLL_CTL_DEL, pidfd, &ignored);
}

THRUM_OUT_OF_LINE void child_watch::wake() noexcept {
  const std::uint64_t one = 1;
  os::write(alarm_, &one, sizeof one);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::size_t child_watch::sleep(void** found, std::size_t most,
                                                                int timeout_ms) noexcept {
  constexpr std::size_t at_once = 64;
  ::epoll_event events[at_once];
  const int n =
      ::epoll_wait(poller_, events, static_cast<int>(most < at_once ? most : at_once), timeout_ms);
  std::size_t count = 0;
  for (int i = 0; i < n; ++i) {
    if (events[i].data.ptr != nullptr) {
      found[count++] = events[i].data.ptr;
      continue;
    }
    std::uint64_t wakes;
    os::read(alarm_, &wakes, sizeof wakes);
  }
  return count;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_LINUX_PROCESS_HPP
