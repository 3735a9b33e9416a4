// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the wait table needs of the system (os/wait_table.hpp), on POSIX: an event by a semaphore. Code
// that no signal interrupts is in uninterrupted.hpp.
#ifndef THRUM_DETAIL_OS_POSIX_THREAD_EVENT_HPP
#define THRUM_DETAIL_OS_POSIX_THREAD_EVENT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/os/clock.hpp>
#include <thrum/detail/os/posix/thread.hpp>  // IWYU pragma: export

#include <cerrno>
#include <cstdint>
#include <ctime>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Keeps errno to the end of a block.
class kept_error {
 public:
  kept_error() noexcept = default;
  ~kept_error() { errno = before_; }
  kept_error(const kept_error&) = delete;
  kept_error& operator=(const kept_error&) = delete;

 private:
  const int before_ = errno;
};

/// An event that happens once at most, for which one thread waits. A signal handler may post it.
class thread_event {
 public:
  struct spares {};  // making a semaphore costs nothing

  /// Does not return if the system refuses.
  void open(spares& /*from*/) noexcept {
    if (::sem_init(&posts_, 0, 0) != 0) {
      base::fatal("semaphore: the system refuses to create one");
    }
  }
  void lay_aside(spares& /*to*/) noexcept {}
  void close() noexcept { ::sem_destroy(&posts_); }

  void post() noexcept { ::sem_post(&posts_); }

  /// False: `deadline` (of now(); negative: none) has passed. May return true early.
  bool wait_until(std::int64_t deadline) noexcept {
    return wait_for_post(posts_, deadline) != ETIMEDOUT;
  }

 private:
  /// 0 or an errno value; a template, as not every C library has sem_clockwait. Without it, if the
  /// system's time is set back the sleep lasts so much longer.
  template <class Semaphore>
  static int wait_for_post(Semaphore& posts, std::int64_t deadline) noexcept {
    if (deadline < 0) {
      return ::sem_wait(&posts) == 0 ? 0 : errno;
    }
    if constexpr (requires(::timespec t) { sem_clockwait(&posts, CLOCK_MONOTONIC, &t); }) {
      const ::timespec until = to_timespec(deadline);
      return sem_clockwait(&posts, CLOCK_MONOTONIC, &until) == 0 ? 0 : errno;
    } else {
      for (;;) {
        const std::int64_t left = deadline - now();
        if (left <= 0) {
          return ::sem_trywait(&posts) == 0 ? 0 : ETIMEDOUT;
        }
        ::timespec until{};
        ::clock_gettime(CLOCK_REALTIME, &until);
        const std::int64_t at = std::int64_t{until.tv_sec} * nanoseconds_per_second + until.tv_nsec;
        until = to_timespec(left > INT64_MAX - at ? INT64_MAX : at + left);
        if (::sem_timedwait(&posts, &until) == 0) {
          return 0;
        }
        if (errno != ETIMEDOUT) {
          return errno;
        }
      }
    }
  }

  ::sem_t posts_{};
};

/// Lets another thread run; `for_long`: also one that runs only while this one sleeps.
inline void stand_aside(bool for_long) noexcept {
  if (for_long) {
    constexpr ::timespec moment{0, 50'000};
    ::nanosleep(&moment, nullptr);
  } else {
    ::sched_yield();
  }
}

/// Has it called in each child process that is forked from now on.
inline void call_in_child(void (*what)()) noexcept { ::pthread_atfork(nullptr, nullptr, what); }

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_THREAD_EVENT_HPP
