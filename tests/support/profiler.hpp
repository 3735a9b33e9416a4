// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a profiler does to the threads of a process: a signal to each in turn. Without SA_ONSTACK, as
// some profilers do: the frame comes onto a goroutine's stack. Nothing on Windows, where there are no
// signals, and a profiler stops threads as the library itself does.
#ifndef THRUM_TESTS_SUPPORT_PROFILER_HPP
#define THRUM_TESTS_SUPPORT_PROFILER_HPP

#include <atomic>

#if !defined(_WIN32)
#include "support/process.hpp"

#include <chrono>
#include <thread>

#include <signal.h>
#endif

namespace support {

/// Calls `take_sample` in each thread in turn, a thousand times a second, until `over`.
template <class Sample>
void profile(const std::atomic<bool>& over, [[maybe_unused]] Sample take_sample) {
#if defined(_WIN32)
  static_cast<void>(over);
#else
  static Sample sample = take_sample;
  struct ::sigaction action {};
  action.sa_handler = [](int) { sample(); };
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);
  while (!over) {
    for (const long thread : threads_to_signal()) {
      if (!over) {
        signal_thread(thread, SIGPROF);  // or it has ended
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }
#endif
}

}  // namespace support

#endif
