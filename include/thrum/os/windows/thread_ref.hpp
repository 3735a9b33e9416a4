// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What others need of a thread: a look at it, and to have it make a call where it stands. Both stop it
// for the time of a few calls of the system.
//
// TS1  between stopping a thread and letting it go on nothing waits for a lock: no malloc, no output. It
//      may hold any.
// TS2  one thread of the process stops others at a time, and is itself not stopped meanwhile: two that
//      stop each other would never go on. Debuggers stop threads as well; each lets go as often as it
//      has stopped.
// TS3  who stops a thread writes nothing to its stack: see preempt_signal.hpp.
// TS4  a thread is not interrupted inside the system's libraries, where it may hold a lock of the heap or
//      of the loader for which all others would wait, nor where it sleeps in the system: what it was
//      told to do there would come when it wakes, and spoil what the call returns; nor in code that is
//      not in the process's own memory, as an emulation of the system has. It is looked at again later.
#ifndef THRUM_OS_WINDOWS_THREAD_REF_HPP
#define THRUM_OS_WINDOWS_THREAD_REF_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/answers.hpp>
#include <thrum/os/windows/preempt_signal.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A thread of this process as others see it. All but open() and close() may be called by any
/// thread, without malloc.
class thread_ref {
 public:
  /// Whether cpu_now() has steps of less than a millisecond.
  static constexpr bool has_fine_clock = false;

  constexpr thread_ref() noexcept = default;
  thread_ref(const thread_ref&) = delete;
  thread_ref& operator=(const thread_ref&) = delete;

  /// The calling thread's from now on.
  void open() noexcept;

  /// No thread's any more: nobody is interrupted. Its own thread calls it, last.
  void close() noexcept;

  /// Whether it is the calling thread's.
  bool is_calling_thread() const noexcept;

  /// Nanoseconds of CPU time so far, in steps of some 15 ms; 0 if the thread has ended.
  std::int64_t cpu_now() const noexcept;

  /// What the thread does.
  thread_look look() const noexcept;

  /// Whether the thread sleeps for a time that it has chosen: nobody says.
  static bool naps() noexcept { return false; }

  /// Has target.interrupt called on that thread where it computes. False if there is no thread, or it
  /// cannot be interrupted where it stands (TS4), or has too little of its stack left.
  bool interrupt(preempt_target& target) const noexcept;

 private:
  class held;
  class stopped;

  mutable std::atomic<bool> locked_{false};
  std::atomic<unsigned long> number_{0};  // of the thread; 0: of none
  void* handle_ = nullptr;
  const char* block_ = nullptr;  // what the system has of the thread (TEB)
  std::atomic<unsigned> uninterrupted_{0};
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/thread_ref_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_THREAD_REF_HPP
