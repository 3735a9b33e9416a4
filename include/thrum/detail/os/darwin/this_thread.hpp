// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What macOS does for the calling thread in its own way: its name and number, how it sleeps.
#ifndef THRUM_DETAIL_OS_DARWIN_THIS_THREAD_HPP
#define THRUM_DETAIL_OS_DARWIN_THIS_THREAD_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_MACOS

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Names the calling thread for debuggers and ps, cut to 63 bytes.
void set_thread_name(const char* name) noexcept;

/// Does nothing: the system decides by classes of service, which are the program's.
inline void ask_for_short_waits() noexcept {}

/// The CPU that the calling thread runs on; 0: a program is not told.
inline std::uint32_t current_cpu() noexcept { return 0; }

/// The kernel's number of the calling thread: unique in the system while the thread lives. May be
/// called from a signal handler.
std::uint64_t thread_id() noexcept;

/// 0: the system does not say without reading much, and not how many are its own.
inline std::size_t count_threads() noexcept { return 0; }

/// Blocks the thread for ns nanoseconds, through any number of signals; at once when ns <= 0.
/// May be called from a signal handler.
void sleep_ns(std::int64_t ns) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/posix/clock.hpp>

#include <cerrno>
#include <ctime>

#include <pthread.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void set_thread_name(const char* name) noexcept {
  ::pthread_setname_np(name);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint64_t thread_id() noexcept {
  std::uint64_t number = 0;
  ::pthread_threadid_np(nullptr, &number);
  return number;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept {
  const int before = errno;
  const std::int64_t end = deadline_after(ns);
  for (std::int64_t left = ns; left > 0; left = end - now()) {
    const ::timespec rest = to_timespec(left);
    ::nanosleep(&rest, nullptr);
  }
  errno = before;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_MACOS
#endif  // THRUM_DETAIL_OS_DARWIN_THIS_THREAD_HPP
