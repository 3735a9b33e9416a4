// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Whether another thread computes or waits, on Linux.
#ifndef THRUM_OS_LINUX_THREAD_CLOCK_HPP
#define THRUM_OS_LINUX_THREAD_CLOCK_HPP

#include <atomic>
#include <climits>
#include <cstdint>

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>

#if THRUM_OS_LINUX

#include <ctime>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// The CPU time of a thread, readable by any other.
class thread_clock {
 public:
  /// The calling thread's. Others may read the one of an earlier thread meanwhile.
  void open() noexcept;

  /// Nanoseconds of CPU time so far, 0 if the thread has ended or the system does not say. About
  /// 300 ns. No malloc, no lock.
  std::int64_t now() const noexcept {
    ::timespec t{};
    const ::clockid_t clock = clock_.load(relaxed);  // relaxed: see open
    if (clock == unknown || ::clock_gettime(clock, &t) != 0) {
      return 0;
    }
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }

 private:
  static constexpr ::clockid_t unknown = INT_MAX;
  std::atomic<::clockid_t> clock_{unknown};
};

/// Whether the thread sleeps in the kernel, as opposed to running or waiting for a CPU. True also
/// where the system does not say.
bool thread_sleeps(std::uint64_t thread) noexcept;

/// Whether the thread sleeps for a time that it has chosen, and does not wait for another thread.
/// False where the system does not say.
bool thread_naps(std::uint64_t thread) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/thread_clock_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_THREAD_CLOCK_HPP
