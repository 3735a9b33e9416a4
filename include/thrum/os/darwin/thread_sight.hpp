// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What others see of a thread, on macOS: the kernel says in one call how much CPU time it has used
// and whether it runs.
#ifndef THRUM_OS_DARWIN_THREAD_SIGHT_HPP
#define THRUM_OS_DARWIN_THREAD_SIGHT_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_MACOS

#include <thrum/os/answers.hpp>

#include <atomic>
#include <cstdint>

#include <mach/mach_types.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The part of a thread_ref that looks.
class thread_sight {
 public:
  void open() noexcept;
  void close() noexcept;
  std::int64_t cpu_now() const noexcept;
  thread_look look() const noexcept;

 private:
  std::atomic<::thread_t> port_{0};  // 0: no thread
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/darwin/thread_sight_definition.hpp>
#endif

#endif  // THRUM_OS_MACOS
#endif  // THRUM_OS_DARWIN_THREAD_SIGHT_HPP
