// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleeping on a word, on macOS. What it promises is in os/note.hpp.
//
// Since macOS 14.4 there are calls for it that the system's headers declare, os_sync_...; before that
// __ulock_wait and __ulock_wake, which its own libraries use, also the C++ one. Which of them there
// are is seen when the program runs. They are declared here by names of ours, so that a header of the
// system may declare them as well.
#ifndef THRUM_DETAIL_OS_DARWIN_WAIT_ON_ADDRESS_HPP
#define THRUM_DETAIL_OS_DARWIN_WAIT_ON_ADDRESS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_MACOS

#if THRUM_BODIES
// futex_wait and futex_wake of os/note.hpp, on macOS.

#include <thrum/detail/os/note.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

extern "C" {
[[gnu::weak]] int thrum_sync_wait(void* address, std::uint64_t expected, std::size_t size,
                                  std::uint32_t flags) noexcept __asm__("_os_sync_wait_on_address");
[[gnu::weak]] int thrum_sync_wait_for(void* address, std::uint64_t expected, std::size_t size,
                                      std::uint32_t flags, std::uint32_t clock,
                                      std::uint64_t ns) noexcept
    __asm__("_os_sync_wait_on_address_with_timeout");
[[gnu::weak]] int thrum_sync_wake_any(void* address, std::size_t size, std::uint32_t flags) noexcept
    __asm__("_os_sync_wake_by_address_any");
[[gnu::weak]] int thrum_sync_wake_all(void* address, std::size_t size, std::uint32_t flags) noexcept
    __asm__("_os_sync_wake_by_address_all");
int thrum_ulock_wait(std::uint32_t operation, void* address, std::uint64_t expected,
                     std::uint32_t microseconds) noexcept __asm__("___ulock_wait");
int thrum_ulock_wake(std::uint32_t operation, void* address, std::uint64_t value) noexcept
    __asm__("___ulock_wake");
}

inline constexpr std::uint32_t ulock_compare_and_wait = 1;
inline constexpr std::uint32_t ulock_wake_all = 0x100;

/// The result of the wait, and errno. Its clock stands while the machine sleeps, as now() does.
inline int wait_on_address(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                           std::int64_t timeout_ns) noexcept {
  if (&thrum_sync_wait_for != nullptr) {
    constexpr std::uint32_t mach_absolute_time = 32;
    return timeout_ns < 0 ? thrum_sync_wait(&word, expected, sizeof word, 0)
                          : thrum_sync_wait_for(&word, expected, sizeof word, 0, mach_absolute_time,
                                                static_cast<std::uint64_t>(timeout_ns));
  }
  // 0 is for ever; what is longer than fits ends early, as by a signal.
  constexpr std::int64_t most = 1'000'000'000;
  std::int64_t microseconds = 0;
  if (timeout_ns >= 0) {
    microseconds = timeout_ns / 1000 + 1;
    microseconds = microseconds < most ? microseconds : most;
  }
  const int result = thrum_ulock_wait(ulock_compare_and_wait, &word, expected,
                                      static_cast<std::uint32_t>(microseconds));
  if (result < 0 && errno == ETIMEDOUT && microseconds == most) {
    errno = EINTR;
  }
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool futex_wait(std::atomic<std::uint32_t>& word,
                                                 std::uint32_t expected,
                                                 std::int64_t timeout_ns) noexcept {
  const int before = errno;
  bool timed_out = timeout_ns == 0;  // which the system takes for an error
  if (!timed_out) {
    timed_out = wait_on_address(word, expected, timeout_ns) < 0 && errno == ETIMEDOUT;
  }
  errno = before;
  return !timed_out;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void futex_wake(std::atomic<std::uint32_t>& word,
                                                 int how_many) noexcept {
  const int before = errno;
  const bool has_sync = &thrum_sync_wake_all != nullptr;
  if (how_many == 1) {
    has_sync ? thrum_sync_wake_any(&word, sizeof word, 0)
             : thrum_ulock_wake(ulock_compare_and_wait, &word, 0);
  } else {  // those that are too many look at the word and sleep on
    has_sync ? thrum_sync_wake_all(&word, sizeof word, 0)
             : thrum_ulock_wake(ulock_compare_and_wait | ulock_wake_all, &word, 0);
  }
  errno = before;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_MACOS
#endif  // THRUM_DETAIL_OS_DARWIN_WAIT_ON_ADDRESS_HPP
