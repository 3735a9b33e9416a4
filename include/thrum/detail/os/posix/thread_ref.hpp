// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What others need of a thread: what they see of it, which is the system's (thread_sight), and a signal
// to it.
//
// A pthread_t must not be used any more once its thread was joined. So who sends a signal keeps the
// thread from closing its reference meanwhile, by a lock that is held for this one call.
#ifndef THRUM_DETAIL_OS_POSIX_THREAD_REF_HPP
#define THRUM_DETAIL_OS_POSIX_THREAD_REF_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_PORTABLE

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/posix/preempt_signal.hpp>
#include <thrum/detail/os/sight_parts.hpp>

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

  /// No thread's any more: interrupt() returns false. Its own thread calls it, last.
  void close() noexcept;

  /// Whether it is the calling thread's. For handlers, too.
  bool is_calling_thread() const noexcept;

  /// Nanoseconds of CPU time so far, 0 if the thread has ended or the system does not say.
  std::int64_t cpu_now() const noexcept { return sight_.cpu_now(); }

  /// What the thread does, as far as the system says.
  thread_look look() const noexcept { return sight_.look(); }

  /// Whether the thread sleeps for a time that it has chosen: the system does not say.
  static bool naps() noexcept { return false; }

  /// Has target.interrupt called on that thread, wherever it is. False if there is no thread.
  bool interrupt(preempt_target& target) const noexcept;

 private:
  class held;

  mutable std::atomic<bool> locked_{false};
  base::under_lock<bool> is_open_{false};
  base::under_lock<::pthread_t> handle_{};
  thread_sight sight_;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>

#include <sched.h>
#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// The reference stays open, or closed, to the end of a block.
class thread_ref::held {
 public:
  explicit held(const thread_ref& ref) noexcept : ref_(ref) {
    while (ref_.locked_.exchange(true, acquire)) {  // [tr.lock <] acquire: what the last one did
      ::sched_yield();
    }
  }
  ~held() { ref_.locked_.store(false, release); }  // [tr.lock >] release: what was done meanwhile
  held(const held&) = delete;
  held& operator=(const held&) = delete;

 private:
  const thread_ref& ref_;
};

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_ref::open() noexcept {
  const ::pthread_t self = ::pthread_self();
  const held guard(*this);
  handle_.set(self);
  sight_.open();
  is_open_.set(true);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_ref::close() noexcept {
  const held guard(*this);
  is_open_.set(false);
  sight_.close();
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_ref::is_calling_thread() const noexcept {
  return is_open_.peek() && ::pthread_equal(handle_.peek(), ::pthread_self()) != 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_ref::interrupt(preempt_target& target) const noexcept {
  const held guard(*this);
  if (!is_open_.get()) {
    return false;
  }
  if (!target.is_to_be_sent() || ::pthread_kill(handle_.get(), preempt_signal) == 0) {
    return true;
  }
  target.unmarked.store(false, relaxed);  // relaxed: there is no signal that it could order
  return false;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_POSIX_THREAD_REF_HPP
