// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Signals that are caught to be looked at later, on Linux.
//
// A handler may do next to nothing. Ours sets the signal's bit and wakes a note; a thread that
// sleeps on the note takes the bits. A signal that comes again before its bit was taken leaves no
// second trace, as with signals that are blocked.
//
// Whoever removes the handler and wants what it has heard must know that it is not running: the
// handlers that run are counted. Their mask is full, so that none is held up while it counts.
//
// Who else handles a signal: what was installed before is kept, and put back if ours is then still
// the one that is installed. If somebody has installed another one meanwhile, that one stays.
#ifndef THRUM_OS_LINUX_CAUGHT_SIGNALS_HPP
#define THRUM_OS_LINUX_CAUGHT_SIGNALS_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/linux/descriptor.hpp>
#include <thrum/os/linux/note.hpp>

#if THRUM_OS_LINUX

#include <atomic>
#include <cerrno>
#include <cstdint>

#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace thrum::inline THRUM_ABI::os {

using namespace base::orders;

/// One of these in the process. Installing and removing: one thread at a time.
class caught_signals {
 public:
  static constexpr int last = 64;

  static constexpr std::uint64_t bit(int number) noexcept {
    return std::uint64_t{1} << (number - 1);
  }

  /// The signal is ours from now on. 0, or an errno value below zero: -EINVAL for those that nobody
  /// can catch.
  THRUM_NOINLINE static io_result install(int number) noexcept {
    struct ::sigaction ours {};
    ours.sa_handler = &handle;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigfillset(&ours.sa_mask);
    struct ::sigaction found {};
    const io_result result = result_of(::sigaction(number, &ours, &found));
    if (result >= 0 && !is_ours(found)) {  // else somebody has put ours back who had kept it
      earlier_[number] = found;
    }
    return result;
  }

  THRUM_NOINLINE static void remove(int number) noexcept {
    struct ::sigaction found {};
    if (::sigaction(number, nullptr, &found) == 0 && is_ours(found)) {
      ::sigaction(number, &earlier_[number], nullptr);
    }
  }

  /// Returns when no handler runs that ran when it was called.
  THRUM_NOINLINE static void wait_for_handlers() noexcept {
    while (inside_.load(acquire) != 0) {  // [cs.idle] acquire: the bits of those that have ended
      ::sched_yield();
    }
  }

  /// Sleeps until a signal is caught or wake() is called; for ns nanoseconds at most, if that is
  /// not negative. One thread.
  static void sleep(std::int64_t ns) noexcept {
    if (ns < 0) {
      note_.sleep();
      note_.clear_while_woken();
    } else if (note_.sleep_for(ns)) {
      note_.clear_while_woken();
    }
  }

  /// The signals that came since the last time. A sleep after it may find nothing new.
  static std::uint64_t take() noexcept {
    return bits_.exchange(0, acquire);  // [cs.bits] acquire: pairs with the handler
  }

  /// From any thread.
  static void wake() noexcept { note_.wake(); }

  /// No signal's handler runs on the calling thread any more.
  THRUM_NOINLINE static void leave_to_other_threads() noexcept {
    ::sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  }

 private:
  static bool is_ours(const struct ::sigaction& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == &handle;
  }

  static void handle(int number) noexcept {
    const int kept = errno;
    inside_.fetch_add(1, relaxed);         // relaxed: one that is not counted yet has not come
    bits_.fetch_or(bit(number), release);  // [cs.bits] release: before the note is woken
    note_.wake();
    inside_.fetch_sub(1, release);  // [cs.idle] release: the bit
    errno = kept;
  }

  static inline constinit std::atomic<std::uint64_t> bits_{0};
  static inline constinit std::atomic<std::uint32_t> inside_{0};
  static inline constinit note note_;
  static inline constinit struct ::sigaction earlier_[last + 1] = {};
};

}  // namespace thrum::inline THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
