// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Two signals that a program may send itself on every system, and who hears them.
#ifndef THRUM_TESTS_SUPPORT_SIGNALS_HPP
#define THRUM_TESTS_SUPPORT_SIGNALS_HPP

#include <thrum/detail/base/config.hpp>

#include <csignal>

#if !defined(_WIN32)
#include <signal.h>
#include <unistd.h>
#endif

namespace support {

using signal_handler = void (*)(int);

#if defined(_WIN32)

inline constexpr int first_signal = SIGTERM;
inline constexpr int second_signal = SIGBREAK;

inline void send_to_us(int number) { std::raise(number); }

/// What the C library calls for it.
inline signal_handler handler_of(int number) {
  const signal_handler found = std::signal(number, SIG_DFL);
  std::signal(number, found);
  return found;
}

#else

inline constexpr int first_signal = SIGUSR1;
inline constexpr int second_signal = SIGUSR2;

/// Sends a signal to the process; the system chooses a thread. ThreadSanitizer holds a signal back
/// until its thread makes a call that it knows, which a thread that sleeps does not: so there the
/// signal goes to the calling thread.
inline void send_to_us(int number) {
  if (THRUM_TSAN) {
    ::raise(number);
  } else {
    ::kill(::getpid(), number);
  }
}

inline signal_handler handler_of(int number) {
  struct ::sigaction found {};
  ::sigaction(number, nullptr, &found);
  return found.sa_handler;
}

#endif

}  // namespace support

#endif
