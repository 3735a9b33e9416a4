// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What others need of a thread: what they see of it, which is the system's (thread_sight), and a signal
// to it.
//
// A pthread_t must not be used any more once its thread was joined. So who sends a signal keeps the
// thread from closing its reference meanwhile, by a lock that is held for this one call.
#ifndef THRUM_OS_POSIX_THREAD_REF_HPP
#define THRUM_OS_POSIX_THREAD_REF_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_PORTABLE

#include <thrum/os/answers.hpp>
#include <thrum/os/posix/preempt_signal.hpp>
#include <thrum/os/sight_parts.hpp>

#include <atomic>
#include <cstdint>

#include <pthread.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A thread of this process as others see it. All but open() and close() may be called by any
/// thread, without malloc.
class thread_ref {
 public:
  /// Whether cpu_now() has steps of less than a millisecond.
  static constexpr bool has_fine_clock = true;

  constexpr thread_ref() noexcept = default;
  thread_ref(const thread_ref&) = delete;
  thread_ref& operator=(const thread_ref&) = delete;

  /// The calling thread's from now on.
  void open() noexcept;

  /// No thread's any more: nobody is interrupted. Its own thread calls it, last.
  void close() noexcept;

  /// Whether it is the calling thread's. For handlers, too.
  bool is_calling_thread() const noexcept;

  /// Nanoseconds of CPU time so far, 0 if the thread has ended or the system does not say.
  std::int64_t cpu_now() const noexcept { return sight_.cpu_now(); }

  /// What the thread does, as far as the system says.
  thread_look look() const noexcept { return sight_.look(); }

  /// Whether the thread sleeps for a time that it has chosen: nobody says.
  static bool naps() noexcept { return false; }

  /// Has target.interrupt called on that thread, wherever it is. False if there is no thread.
  bool interrupt(preempt_target& target) const noexcept;

 private:
  class held;

  mutable std::atomic<bool> locked_{false};
  std::atomic<bool> is_open_{false};
  std::atomic<::pthread_t> handle_{};
  thread_sight sight_;
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/thread_ref_definition.hpp>
#endif

#endif  // THRUM_OS_PORTABLE
#endif  // THRUM_OS_POSIX_THREAD_REF_HPP
