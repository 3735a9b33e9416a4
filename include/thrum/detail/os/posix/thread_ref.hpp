// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What others need of a thread: what they see of it, which is the system's (thread_sight), and a signal
// to it.
//
// A pthread_t must not be used any more once its thread was joined. So who sends a signal keeps the
// thread from closing its reference meanwhile, by a lock that is held for this one call.
//
// A running OS thread that says whether it has ended, where the system does not: by a word that the
// thread writes at its end.
//
// What tells our signal from others where none can carry a value to a thread: the stack that its
// handler runs on is ours, and a signal was sent to that thread.
#ifndef THRUM_DETAIL_OS_POSIX_THREAD_REF_HPP
#define THRUM_DETAIL_OS_POSIX_THREAD_REF_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_PORTABLE

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/posix/preempt_signal.hpp>
#include <thrum/detail/os/posix/thread.hpp>

#if THRUM_OS_BSD
#include <thrum/detail/os/bsd/thread.hpp>  // IWYU pragma: export
#else

namespace thrum { inline namespace THRUM_ABI { namespace os {
using thread_sight = clock_sight;
}}}  // namespace thrum::THRUM_ABI::os
#endif

#include <atomic>
#include <cstdint>

#include <pthread.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Handle of a running OS thread. Must be joined before it is destroyed or assigned to.
class thread : public joinable_thread {
 public:
  constexpr thread() noexcept = default;

  /// As joinable_thread's. Allocates.
  [[nodiscard]] static int start(thread& out, void* (*entry)(void*), void* argument) noexcept;

  /// Blocks until the thread has ended.
  void join() noexcept;

  /// Whether the thread has ended; if so it is joined. Waits for no more than the last of its
  /// instructions.
  [[nodiscard]] bool try_join() noexcept;

 private:
  struct life;
  life* life_ = nullptr;  // while it is joinable
};

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

#include <cerrno>
#include <cstddef>
#include <new>

#include <sched.h>
#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

struct thread::life {
  void* (*entry)(void*);
  void* argument;
  std::atomic<bool> has_ended{false};
};

THRUM_OUT_OF_LINE int thread::start(thread& out, void* (*entry)(void*), void* argument) noexcept {
  auto* const fresh = new (std::nothrow) life{entry, argument};
  if (fresh == nullptr) {
    return ENOMEM;
  }
  const int error = joinable_thread::start(
      out,
      [](void* its) -> void* {
        life& own = *static_cast<life*>(its);
        void* const result = own.entry(own.argument);
        own.has_ended.store(true, release);  // [th.end >] release: all that the thread has done
        return result;
      },
      fresh);
  if (error != 0) {
    delete fresh;
    return error;
  }
  out.life_ = fresh;
  return 0;
}

THRUM_OUT_OF_LINE void thread::join() noexcept {
  joinable_thread::join();
  delete life_;
  life_ = nullptr;
}

THRUM_OUT_OF_LINE bool thread::try_join() noexcept {
  if (!joinable() || !life_->has_ended.load(acquire)) {  // [th.end <] acquire: what it has done
    return false;
  }
  join();
  return true;
}

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

// What systems do in several ways for os/posix/preempt_signal.hpp: target_of, signal_frame_bytes.

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The system is asked for the stack: what a context says of it differs.
THRUM_NOINLINE THRUM_OUT_OF_LINE preempt_target* target_of(const ::siginfo_t&,
                                                           const void*) noexcept {
  ::stack_t stack{};
  if (::sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) != 0 ||
      stack.ss_sp == nullptr) {
    return nullptr;
  }
  return signal_stack_mark::target_at(stack.ss_sp);
}

/// With room for the widest vectors that there are.
THRUM_OUT_OF_LINE std::size_t signal_frame_bytes() noexcept {
  constexpr std::size_t widest = std::size_t{16} << 10;
  const auto least = static_cast<std::size_t>(MINSIGSTKSZ);
  return least < widest ? widest : least;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif

#endif
#endif  // THRUM_DETAIL_OS_POSIX_THREAD_REF_HPP
