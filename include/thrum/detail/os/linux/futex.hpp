// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleeping on a word, on Linux: the futex calls. What they promise is in os/note.hpp.
//
// Times as system calls of Linux take them.
#ifndef THRUM_DETAIL_OS_LINUX_FUTEX_HPP
#define THRUM_DETAIL_OS_LINUX_FUTEX_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/clock.hpp>

#include <cstdint>
#include <limits>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <atomic>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What the kernel itself reads, in system calls that the C library does not make for us. Its own
/// type may have 32 or 64 bits on a system of 32 bits, and says nothing of what a call wants.
template <class Word>
struct kernel_time_of {
  Word seconds = 0;
  Word nanoseconds = 0;

  /// Nanoseconds, which are not negative.
  static constexpr kernel_time_of from(std::int64_t ns) noexcept {
    constexpr std::int64_t most = std::numeric_limits<Word>::max();
    const std::int64_t whole = ns / nanoseconds_per_second;
    return {static_cast<Word>(whole < most ? whole : most),
            static_cast<Word>(ns % nanoseconds_per_second)};
  }
};
/// For system calls that are newer than 32-bit processors' first ones.
using kernel_time = kernel_time_of<std::int64_t>;
/// For 32-bit processors' first system calls.
using old_kernel_time = kernel_time_of<long>;

/// The forms of the system call. Where `long` has 64 bits they are the same one; elsewhere the
/// second came with Linux 5.1, and the first waits for 68 years at most.
enum class futex_form : std::uint8_t { with_long_seconds, with_64_bits };

/// The system call itself: its result, and errno.
long call_futex_wait(futex_form form, std::atomic<std::uint32_t>& word, std::uint32_t expected,
                     std::int64_t timeout_ns) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
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

#endif
#endif  // THRUM_DETAIL_OS_LINUX_FUTEX_HPP
