// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the poller of Linux asks of the system. A model puts a kernel of its own in its place.
//
// Waits of less than a millisecond
//   epoll_pwait2 (Linux 5.11) takes nanoseconds; without it they are rounded up to milliseconds.
#ifndef THRUM_NETPOLL_EPOLL_SYSTEM_HPP
#define THRUM_NETPOLL_EPOLL_SYSTEM_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/os/parts.hpp>

#include <atomic>
#include <cstdint>

#include <sys/epoll.h>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

/// What the poller asks of the system. The model has another one.
struct epoll_system {
  template <class T>
  using atomic = std::atomic<T>;
  using descriptor = int;
  using note = os::note;

  static int make_poller() noexcept;
  static int make_alarm() noexcept;
  static int control(int poller, int what, int fd, ::epoll_event& event) noexcept;
  static void close(int fd) noexcept;
  static void yield() noexcept;

  static void sound_alarm(int fd) noexcept;
  static void silence_alarm(int fd) noexcept;

  /// Number of events, 0 also after a signal.
  static int wait(int fd, ::epoll_event* found, int most, std::int64_t delay_ns) noexcept;

 private:
  static constexpr long number_of_pwait2 = 441;  // the same on every processor
  static inline constinit std::atomic<bool> has_pwait2{THRUM_TRIES_SYSTEM_CALLS != 0};
};

}}}  // namespace thrum::THRUM_ABI::netpoll

#if !THRUM_SEPARATE
#include <thrum/netpoll/epoll_system_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif
