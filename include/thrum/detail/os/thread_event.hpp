// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the wait table needs of the system (os/wait_table.hpp): an event, for which a thread sleeps. Code
// that no signal and no other thread interrupts is in posix/thread.hpp and windows/thread.hpp.
#ifndef THRUM_DETAIL_OS_THREAD_EVENT_HPP
#define THRUM_DETAIL_OS_THREAD_EVENT_HPP

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

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/os/clock.hpp>
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/thread.hpp>  // IWYU pragma: export

#include <cstddef>
#include <cstdint>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// An event is an object of the kernel. Events are kept for the next that sleeps there: making one is dearer than
// the sleep.

/// Keeps the thread's last error to the end of a block.
class kept_error {
 public:
  kept_error() noexcept = default;
  ~kept_error() { ::SetLastError(before_); }
  kept_error(const kept_error&) = delete;
  kept_error& operator=(const kept_error&) = delete;

 private:
  const ::DWORD before_ = ::GetLastError();
};

/// An event that happens once at most, for which one thread waits.
class thread_event {
 public:
  /// The unused events of one bucket, under its lock.
  struct spares {
    static constexpr std::size_t most = 8;
    std::size_t count = 0;
    ::HANDLE events[most] = {};
  };

  /// Does not return if the system refuses.
  void open(spares& from) noexcept {
    event_ =
        from.count != 0 ? from.events[--from.count] : ::CreateEventW(nullptr, TRUE, FALSE, nullptr);
    if (event_ == nullptr) {
      base::fatal("event: the system refuses to create one");
    }
  }
  void lay_aside(spares& to) noexcept {
    if (to.count != spares::most) {
      ::ResetEvent(event_);
      to.events[to.count++] = std::exchange(event_, nullptr);
    }
  }
  void close() noexcept {
    if (event_ != nullptr) {
      ::CloseHandle(event_);
    }
  }

  void post() noexcept { ::SetEvent(event_); }

  /// False: `deadline` (of now(); negative: none) has passed.
  bool wait_until(std::int64_t deadline) noexcept {
    constexpr std::int64_t millisecond = 1'000'000;
    constexpr std::int64_t longest = 86'400'000 * millisecond;  // a day, and then the next one
    if (deadline < 0) {
      ::WaitForSingleObject(event_, INFINITE);
      return true;
    }
    for (std::int64_t left = deadline - now(); left > 0; left = deadline - now()) {
      const std::int64_t part = left < longest ? left : longest;
      const auto rounded_up = static_cast<::DWORD>((part + millisecond - 1) / millisecond);
      if (::WaitForSingleObject(event_, rounded_up) == WAIT_OBJECT_0) {
        return true;
      }
    }
    return false;
  }

 private:
  ::HANDLE event_ = nullptr;
};

/// Lets another thread run; `for_long`: also one that runs only while this one sleeps.
inline void stand_aside(bool for_long) noexcept {
  if (for_long) {
    ::Sleep(1);
  } else {
    ::SwitchToThread();
  }
}

/// There are no child processes that begin as copies.
inline void call_in_child(void (* /*what*/)()) noexcept {}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_THREAD_EVENT_HPP
