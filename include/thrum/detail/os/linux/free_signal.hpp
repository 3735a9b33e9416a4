// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A real-time signal that the program does not use, for the library's own handlers on Linux.
#ifndef THRUM_DETAIL_OS_LINUX_FREE_SIGNAL_HPP
#define THRUM_DETAIL_OS_LINUX_FREE_SIGNAL_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Installs `ours` for the highest real-time signal below SIGRTMAX that has no handler. All signals are blocked while the
/// handler runs. Returns the signal; 0: each has a handler. One thread at a time.
inline int install_at_free_signal(struct ::sigaction ours) noexcept {
  sigfillset(&ours.sa_mask);
  for (int signal = SIGRTMAX - 1; signal > SIGRTMIN; --signal) {
    struct ::sigaction found {};
    const bool is_free = ::sigaction(signal, nullptr, &found) == 0 &&
                         (found.sa_flags & SA_SIGINFO) == 0 && found.sa_handler == SIG_DFL;
    if (is_free && ::sigaction(signal, &ours, nullptr) == 0) {
      return signal;
    }
  }
  return 0;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif
#endif  // THRUM_DETAIL_OS_LINUX_FREE_SIGNAL_HPP
