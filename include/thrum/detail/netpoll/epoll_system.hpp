// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the poller of Linux asks of the system. A model puts a kernel of its own in its place.
//
// Waits of less than a millisecond
//   epoll_pwait2 (Linux 5.11) takes nanoseconds; without it they are rounded up to milliseconds.
#ifndef THRUM_DETAIL_NETPOLL_EPOLL_SYSTEM_HPP
#define THRUM_DETAIL_NETPOLL_EPOLL_SYSTEM_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/parts.hpp>

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
  static inline constinit base::set_once<bool> has_pwait2{THRUM_TRIES_SYSTEM_CALLS != 0};
};

}}}  // namespace thrum::THRUM_ABI::netpoll

#if THRUM_BODIES
#include <thrum/detail/os/os.hpp>

#include <cerrno>
#include <climits>
#include <ctime>

#include <sys/eventfd.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

THRUM_OUT_OF_LINE int epoll_system::make_poller() noexcept {
  return ::epoll_create1(EPOLL_CLOEXEC);
}

THRUM_OUT_OF_LINE int epoll_system::make_alarm() noexcept {
  return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

THRUM_OUT_OF_LINE int epoll_system::control(int own, int what, int fd,
                                            ::epoll_event& event) noexcept {
  return ::epoll_ctl(own, what, fd, &event);
}

THRUM_OUT_OF_LINE void epoll_system::close(int fd) noexcept { ::close(fd); }

THRUM_OUT_OF_LINE void epoll_system::yield() noexcept { os::yield_thread(); }

THRUM_NOINLINE THRUM_OUT_OF_LINE void epoll_system::sound_alarm(int fd) noexcept {
  const std::uint64_t one = 1;
  const int saved = errno;
  [[maybe_unused]] const auto written = ::write(fd, &one, sizeof one);
  errno = saved;
}

THRUM_OUT_OF_LINE void epoll_system::silence_alarm(int fd) noexcept {
  std::uint64_t count;
  [[maybe_unused]] const auto n = ::read(fd, &count, sizeof count);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE int epoll_system::wait(int fd, ::epoll_event* found, int most,
                                                        std::int64_t delay_ns) noexcept {
  int n;
  if (delay_ns > 0 && has_pwait2.get()) {
    constexpr std::int64_t second = 1'000'000'000;
    const struct {  // the call's own words, which the C library's type need not have
      std::int64_t seconds, nanoseconds;
    } limit{delay_ns / second, delay_ns % second};
    n = static_cast<int>(
        ::syscall(number_of_pwait2, fd, found, most, &limit, nullptr, std::size_t{0}));
    if (n >= 0 || (errno != ENOSYS && errno != EPERM)) {  // EPERM: older containers
      return n < 0 ? 0 : n;
    }
    has_pwait2.set(false);
  }
  constexpr std::int64_t ms = 1'000'000;
  const std::int64_t rounded = delay_ns > 0 ? (delay_ns + ms - 1) / ms : delay_ns;
  n = ::epoll_wait(fd, found, most, rounded < INT_MAX ? static_cast<int>(rounded) : INT_MAX);
  return n < 0 ? 0 : n;
}

}}}  // namespace thrum::THRUM_ABI::netpoll
#endif

#endif  // THRUM_OS_LINUX
#endif
