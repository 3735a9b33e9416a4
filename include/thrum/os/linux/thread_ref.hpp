// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What others need of a thread, on Linux: whether it computes or waits, its CPU time, and a signal
// to it.
//
// A thread opens its reference itself, as most systems tell some of it to that thread alone. Others
// use it without a lock: the words are atomic, and each by itself says something true of that
// thread, or of one that had the reference before. A signal to a thread that has ended meanwhile may
// reach another one, to which the kernel has given its number; the target finds out by
// is_calling_thread().
#ifndef THRUM_OS_LINUX_THREAD_REF_HPP
#define THRUM_OS_LINUX_THREAD_REF_HPP

#include <atomic>
#include <climits>
#include <cstdint>

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/answers.hpp>
#include <thrum/os/posix/preempt_signal.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <ctime>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// A thread of this process as others see it. All but open() and close() may be called by any
/// thread, without malloc and without a lock.
class thread_ref {
 public:
  /// Whether cpu_now() has steps of less than a millisecond.
  static constexpr bool has_fine_clock = true;

  constexpr thread_ref() noexcept = default;
  thread_ref(const thread_ref&) = delete;
  thread_ref& operator=(const thread_ref&) = delete;

  /// The calling thread's from now on. Others may ask of the one before meanwhile.
  void open() noexcept;

  /// No thread's any more: nobody is interrupted. Its own thread calls it, last.
  void close() noexcept {
    tid_.store(0, relaxed);  // relaxed: a signal that is sent now finds out where it arrives
  }

  /// Whether it is the calling thread's. A system call; for handlers, too.
  bool is_calling_thread() const noexcept;

  /// Nanoseconds of CPU time so far, 0 if the thread has ended or the system does not say. About
  /// 300 ns.
  std::int64_t cpu_now() const noexcept {
    ::timespec t{};
    const ::clockid_t clock = clock_.load(relaxed);  // relaxed: see open
    if (clock == unknown || ::clock_gettime(clock, &t) != 0) {
      return 0;
    }
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }

  /// What the thread does. Some 10 us.
  thread_look look() const noexcept;

  /// Whether the thread sleeps for a time that it has chosen, and does not wait for another thread.
  /// False where the system does not say.
  bool naps() const noexcept;

  /// Has target.interrupt called on that thread, wherever it is. False if there is no thread, or it
  /// has ended.
  bool interrupt(preempt_target& target) const noexcept;

 private:
  static constexpr ::clockid_t unknown = INT_MAX;
  std::atomic<::clockid_t> clock_{unknown};
  std::atomic<std::uint64_t> tid_{0};  // 0: no thread
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/thread_ref_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_THREAD_REF_HPP
