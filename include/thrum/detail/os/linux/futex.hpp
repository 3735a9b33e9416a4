// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleeping on a word, on Linux: the futex calls. What they promise is in os/note.hpp.
#ifndef THRUM_DETAIL_OS_LINUX_FUTEX_HPP
#define THRUM_DETAIL_OS_LINUX_FUTEX_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The forms of the system call. Where `long` has 64 bits they are the same one; elsewhere the
/// second came with Linux 5.1, and the first waits for 68 years at most.
enum class futex_form : std::uint8_t { with_long_seconds, with_64_bits };

/// The system call itself: its result, and errno.
long call_futex_wait(futex_form form, std::atomic<std::uint32_t>& word, std::uint32_t expected,
                     std::int64_t timeout_ns) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/linux/kernel_time.hpp>
#include <thrum/detail/os/note.hpp>

#include <cerrno>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE long call_futex_wait(futex_form form, std::atomic<std::uint32_t>& word,
                                       std::uint32_t expected, std::int64_t timeout_ns) noexcept {
  constexpr long futex_time64 = 422;  // newer than some systems' headers; the same everywhere
  const std::int64_t ns = timeout_ns < 0 ? 0 : timeout_ns;
  if (sizeof(long) == sizeof(std::int64_t) || form == futex_form::with_long_seconds) {
    const auto timeout = old_kernel_time::from(ns);
    return ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected,
                     timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
  }
  const auto timeout = kernel_time::from(ns);
  return ::syscall(futex_time64, &word, FUTEX_WAIT_PRIVATE, expected,
                   timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool futex_wait(std::atomic<std::uint32_t>& word,
                                                 std::uint32_t expected,
                                                 std::int64_t timeout_ns) noexcept {
  const int before = errno;
  long result = call_futex_wait(futex_form::with_64_bits, word, expected, timeout_ns);
  if constexpr (sizeof(long) != sizeof(std::int64_t)) {
    if (result != 0 && (errno == ENOSYS || errno == EPERM)) {  // EPERM: older containers
      result = call_futex_wait(futex_form::with_long_seconds, word, expected, timeout_ns);
    }
  }
  const bool timed_out = result != 0 && errno == ETIMEDOUT;
  errno = before;
  return !timed_out;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void futex_wake(std::atomic<std::uint32_t>& word,
                                                 int how_many) noexcept {
  const int before = errno;
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, how_many, nullptr, nullptr, 0);
  errno = before;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_DETAIL_OS_LINUX_FUTEX_HPP
