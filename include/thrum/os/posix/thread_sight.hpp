// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What others see of a thread, as far as POSIX has it: its CPU time. Whether it computes or waits at
// this moment nobody says.
#ifndef THRUM_OS_POSIX_THREAD_SIGHT_HPP
#define THRUM_OS_POSIX_THREAD_SIGHT_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_PORTABLE && !THRUM_OS_MACOS

#include <thrum/os/answers.hpp>

#include <atomic>
#include <cstdint>

#include <time.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The part of a thread_ref that looks, as a thread_sight.
class clock_sight {
 public:
  void open() noexcept;
  void close() noexcept;
  std::int64_t cpu_now() const noexcept;
  thread_look look() const noexcept;

 private:
  std::atomic<bool> is_open_{false};
  std::atomic<bool> has_clock_{false};
  std::atomic<::clockid_t> clock_{};
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/thread_sight_definition.hpp>
#endif

#endif  // THRUM_OS_PORTABLE
#endif  // THRUM_OS_POSIX_THREAD_SIGHT_HPP
