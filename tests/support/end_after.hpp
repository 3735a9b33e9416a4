// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// An end for a program that hangs. Not by a thread, where threads are counted: a deadlock is reported
// only where no thread is foreign.
#ifndef THRUM_TESTS_SUPPORT_END_AFTER_HPP
#define THRUM_TESTS_SUPPORT_END_AFTER_HPP

#if defined(_WIN32)
#include <chrono>
#include <cstdlib>
#include <thread>
#else
#include <unistd.h>
#endif

namespace support {

/// The program fails if it lives for so long from now on.
inline void end_after(unsigned seconds) {
#if defined(_WIN32)
  std::thread([seconds] {
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    constexpr int as_by_alarm = 142;
    std::_Exit(as_by_alarm);
  }).detach();
#else
  ::alarm(seconds);
#endif
}

}  // namespace support

#endif
