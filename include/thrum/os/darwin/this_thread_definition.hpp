// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/darwin/this_thread.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_DARWIN_THIS_THREAD_DEFINITION_HPP
#define THRUM_OS_DARWIN_THIS_THREAD_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_MACOS

#include <thrum/os/darwin/this_thread.hpp>
#include <thrum/os/posix/clock.hpp>

#include <cerrno>
#include <cstdint>
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

#endif  // THRUM_OS_MACOS
#endif
