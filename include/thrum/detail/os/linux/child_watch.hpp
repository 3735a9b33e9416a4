// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// child_watch: one thread sleeps until any of many children has ended.
#ifndef THRUM_DETAIL_OS_LINUX_CHILD_WATCH_HPP
#define THRUM_DETAIL_OS_LINUX_CHILD_WATCH_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/posix/descriptor.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

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
#include <cstdint>
#include <initializer_list>

#include <sys/epoll.h>
#include <sys/eventfd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

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
#endif  // THRUM_DETAIL_OS_LINUX_CHILD_WATCH_HPP
