// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// SIGQUIT (the terminal's control-backslash) as a request, on Linux.
#ifndef THRUM_OS_LINUX_QUIT_SIGNAL_HPP
#define THRUM_OS_LINUX_QUIT_SIGNAL_HPP

#include <atomic>
#include <cstdint>

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>

#if THRUM_OS_LINUX

#include <cerrno>

#include <sched.h>
#include <signal.h>

namespace thrum::inline THRUM_ABI::os {

using namespace base::orders;

/// Who hears of it, instead of what was installed before; one in a process. `call` must be safe in a signal handler.
class quit_listener {
 public:
  using function = void (*)(void* argument) noexcept;

  /// False: somebody listens already.
  static bool open(function call, void* argument) noexcept {
    void* nobody = nullptr;
    // [quit.1] acq_rel: one listens.
    if (!argument_.compare_exchange_strong(nobody, argument, acq_rel,
                                           relaxed)) {  // relaxed: refused
      return false;
    }
    call_.store(call, release);  // [quit.1] release: to the handler
    struct ::sigaction found {};
    struct ::sigaction ours {};
    ours.sa_handler = &handle;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(SIGQUIT, &ours, &found);
    if (!is_ours(found)) {  // else what was there before us the last time still is
      earlier_ = found;
    }
    return true;
  }

  /// Returns when no handler is under way any more. Does nothing for others than who listens.
  static void close(void* argument) noexcept {
    if (argument_.load(relaxed) != argument) {  // relaxed: only the owner's own value matters
      return;
    }
    struct ::sigaction found {};
    // A handler that was installed over ours stays; it may call ours, which then does nothing.
    if (::sigaction(SIGQUIT, nullptr, &found) == 0 && is_ours(found)) {
      ::sigaction(SIGQUIT, &earlier_, nullptr);
    }
    call_.store(nullptr, seq_cst);        // [quit.2] seq_cst: before the handlers are counted
    while (inside_.load(seq_cst) != 0) {  // [quit.2] seq_cst: a handler counts, then looks
      ::sched_yield();
    }
    argument_.store(nullptr, release);  // [quit.1] release: the next may open
  }

 private:
  static bool is_ours(const struct ::sigaction& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == &handle;
  }

  static void handle(int) noexcept {
    const int kept = errno;
    inside_.fetch_add(1, seq_cst);                    // [quit.2] as in close
    if (const function call = call_.load(seq_cst)) {  // [quit.2] as in close
      call(argument_.load(relaxed));                  // relaxed: set before call_
    }
    inside_.fetch_sub(1, release);  // [quit.2] release: our last look
    errno = kept;
  }

  static inline constinit std::atomic<function> call_{nullptr};
  static inline constinit std::atomic<void*> argument_{nullptr};
  static inline constinit std::atomic<std::uint32_t> inside_{0};
  static inline constinit struct ::sigaction earlier_ = {};
};

}  // namespace thrum::inline THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_QUIT_SIGNAL_HPP
