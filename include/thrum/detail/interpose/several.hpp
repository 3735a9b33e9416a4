// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Interposed calls: poll, select, epoll_wait, and sleeping. See <thrum/interpose.hpp>.
#ifndef THRUM_DETAIL_INTERPOSE_SEVERAL_HPP
#define THRUM_DETAIL_INTERPOSE_SEVERAL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/interpose/ask.hpp>
#include <thrum/time/sleep.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>

namespace thrum { inline namespace THRUM_ABI { namespace interposed {

// ---- several descriptors ----

/// Waits until one of them is ready, or the moment has passed. False: the system has no room for that.
inline bool wait_for_some(const ::pollfd* all, std::size_t n, moment until) noexcept {
  if (n == 1 && (all->events == POLLIN || all->events == POLLOUT)) {
    wait(all->fd, all->events == POLLIN ? io::side::read : io::side::write, until);
    return true;
  }
  const long set = ask(SYS_epoll_create1, EPOLL_CLOEXEC);
  if (set < 0) {
    return false;
  }
  bool is_whole = true;
  for (std::size_t i = 0; i != n; ++i) {
    ::epoll_event event{};
    event.events = static_cast<std::uint16_t>(all[i].events);
    if (all[i].fd < 0) {
      continue;
    }
    long result = ask(SYS_epoll_ctl, set, EPOLL_CTL_ADD, all[i].fd, &event);
    if (result == -EEXIST) {
      for (std::size_t k = 0; k != n; ++k) {
        event.events |= all[k].fd == all[i].fd ? static_cast<std::uint16_t>(all[k].events) : 0U;
      }
      result = ask(SYS_epoll_ctl, set, EPOLL_CTL_MOD, all[i].fd, &event);
    }
    is_whole = is_whole && result == 0;
  }
  if (is_whole) {
    wait(static_cast<int>(set), io::side::read, until);
  }
  ask(SYS_close, set);
  return is_whole;
}

inline long look(::pollfd* all, ::nfds_t n) noexcept {
  const ::timespec at_once{};
  return ask(SYS_ppoll, all, n, &at_once, nullptr, 0);
}

inline long poll(::pollfd* all, ::nfds_t n, int ms) {
  const auto plain = [&] {
    const ::timespec time{ms / 1000, ms % 1000 * 1'000'000L};
    return ask_as_thread(SYS_ppoll, all, n, ms < 0 ? nullptr : &time, nullptr, 0);
  };
  if (ms == 0 || !may_park()) {
    return plain();
  }
  const moment until = ms < 0 ? for_ever : after(std::chrono::milliseconds(ms));
  for (;;) {
    if (const long ready = look(all, n); ready != 0) {
      return ready;
    }
    if (moment::clock::now() >= until) {
      return 0;
    }
    if (!wait_for_some(all, n, until)) {
      return plain();
    }
  }
}

inline long wait_for_events(int set, ::epoll_event* events, int room, int ms) {
  if (ms == 0 || room <= 0 || !may_park()) {
    return ask_as_thread(SYS_epoll_pwait, set, events, room, ms, nullptr, 0);
  }
  const moment until = ms < 0 ? for_ever : after(std::chrono::milliseconds(ms));
  for (;;) {
    const long ready = ask(SYS_epoll_pwait, set, events, room, 0, nullptr, 0);
    if (ready != 0 || moment::clock::now() >= until) {
      return ready;
    }
    wait(set, io::side::read, until);
  }
}

inline long select(int n, ::fd_set* in, ::fd_set* out, ::fd_set* urgent, ::timeval* time) {
  const auto plain = [&]() -> long {
    if (time == nullptr) {
      return ask_as_thread(SYS_pselect6, n, in, out, urgent, nullptr, nullptr);
    }
    if (time->tv_sec < 0 || time->tv_usec < 0) {
      return -EINVAL;
    }
    ::timespec left{time->tv_sec + time->tv_usec / 1'000'000, time->tv_usec % 1'000'000 * 1000};
    const long result = ask_as_thread(SYS_pselect6, n, in, out, urgent, &left, nullptr);
    *time = {left.tv_sec, left.tv_nsec / 1000};
    return result;
  };
  const bool only_looks = time != nullptr && time->tv_sec <= 0 && time->tv_usec <= 0;
  if (only_looks || n < 0 || n > FD_SETSIZE || !may_park()) {
    return plain();
  }
  ::pollfd all[FD_SETSIZE];
  std::size_t count = 0;
  for (int fd = 0; fd != n; ++fd) {
    const bool reads = in != nullptr && FD_ISSET(fd, in);
    const bool writes = out != nullptr && FD_ISSET(fd, out);
    const bool hears = urgent != nullptr && FD_ISSET(fd, urgent);
    if (reads || writes || hears) {
      all[count++] = {
          fd,
          static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0) | (hears ? POLLPRI : 0)),
          0};
    }
  }
  const moment until =
      time == nullptr
          ? for_ever
          : after(std::chrono::seconds(time->tv_sec) + std::chrono::microseconds(time->tv_usec));
  const ::fd_set none{};
  const ::fd_set asked[3] = {in != nullptr ? *in : none, out != nullptr ? *out : none,
                             urgent != nullptr ? *urgent : none};
  for (;;) {
    ::fd_set seen[3] = {asked[0], asked[1], asked[2]};
    ::timespec at_once{};
    const long ready = ask(SYS_pselect6, n, in != nullptr ? &seen[0] : nullptr,
                           out != nullptr ? &seen[1] : nullptr,
                           urgent != nullptr ? &seen[2] : nullptr, &at_once, nullptr);
    const moment now = moment::clock::now();
    if (ready != 0 || now >= until) {
      ::fd_set* const sets[3] = {in, out, urgent};
      for (int i = 0; ready >= 0 && i != 3; ++i) {
        if (sets[i] != nullptr) {
          *sets[i] = seen[i];
        }
      }
      if (time != nullptr) {
        const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
            until > now ? until - now : moment::clock::duration(0));
        *time = {left.count() / 1'000'000, left.count() % 1'000'000};
      }
      return ready;
    }
    if (!wait_for_some(all, count, until)) {
      return plain();
    }
  }
}

// ---- time ----

inline bool is_time(const ::timespec* time) noexcept {
  return time != nullptr && time->tv_sec >= 0 && time->tv_nsec >= 0 &&
         time->tv_nsec < 1'000'000'000;
}

/// 0, or an errno value.
inline int sleep_by(::clockid_t by, int flags, const ::timespec* time, ::timespec* left) {
  const bool is_absolute = (flags & TIMER_ABSTIME) != 0;
  const bool is_ours = by == CLOCK_MONOTONIC || (by == CLOCK_REALTIME && !is_absolute);
  if (!is_ours || !is_time(time) || !may_park()) {
    return static_cast<int>(-ask_as_thread(SYS_clock_nanosleep, by, flags, time, left));
  }
  std::chrono::nanoseconds length(0);
  constexpr ::time_t longest = 1'000'000'000;  // 31 years
  length = std::chrono::seconds(time->tv_sec < longest ? time->tv_sec : longest) +
           std::chrono::nanoseconds(time->tv_nsec);
  if (is_absolute) {
    ::timespec now{};
    ask(SYS_clock_gettime, by, &now);
    length -= std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  }
  const uncancellable to_the_end;
  sleep_for(length);
  return 0;
}

}}}  // namespace thrum::THRUM_ABI::interposed

#endif
