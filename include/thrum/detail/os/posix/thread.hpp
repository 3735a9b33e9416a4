// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// OS threads: starting and joining one, its priority, yielding; blocking all signals to the end of a
// block; a word and an object of each thread, the compiler's thread_local.
//
// std::thread is not used: it allocates, throws, and its header is too dear for this floor.
//
// Whatever reads errno or the thread pointer is not inlined: the compiler takes their addresses for
// constants of a function, and a function that parks may go on running on another thread.
#ifndef THRUM_DETAIL_OS_POSIX_THREAD_HPP
#define THRUM_DETAIL_OS_POSIX_THREAD_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/os/passive_threads.hpp>  // IWYU pragma: export

#include <pthread.h>
#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Blocks all signals to the end of a block.
class uninterrupted {
 public:
  uninterrupted() noexcept {
    ::sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~uninterrupted() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  uninterrupted(const uninterrupted&) = delete;
  uninterrupted& operator=(const uninterrupted&) = delete;

 private:
  ::sigset_t before_;
};

/// Handle of a running OS thread, of which os::thread is made. Must be joined before it is destroyed
/// or assigned to.
class joinable_thread {
 public:
  constexpr joinable_thread() noexcept = default;
  joinable_thread(joinable_thread&& other) noexcept
      : handle_(other.handle_), joinable_(other.joinable_) {
    other.joinable_ = false;
  }
  joinable_thread& operator=(joinable_thread&& other) noexcept {
    require_joined();
    handle_ = other.handle_;
    joinable_ = other.joinable_;
    other.joinable_ = false;
    return *this;
  }
  ~joinable_thread() { require_joined(); }

  /// Starts a thread that calls entry(argument). Returns 0, or an errno value and leaves `out`
  /// alone. Allocates and takes locks of the C library: not for a signal handler, nor for the
  /// monitor.
  [[nodiscard]] static int start(joinable_thread& out, void* (*entry)(void*),
                                 void* argument) noexcept;

  /// Blocks until the thread has ended.
  void join() noexcept;

  [[nodiscard]] bool joinable() const noexcept { return joinable_; }

 protected:
  pthread_t handle_{};
  bool joinable_ = false;

 private:
  void require_joined() const noexcept;
};

/// Starts a thread that calls entry(argument), takes no signals, and is never joined: it may still
/// run when the process ends. 0 or an errno value. Allocates and takes locks of the C library.
[[nodiscard]] int start_detached_thread(void* (*entry)(void*), void* argument) noexcept;

/// The priority of the calling thread in a real-time class, of which a thread runs until it sleeps
/// or one of a higher priority is ready; 0: it is in none.
int real_time_priority() noexcept;

/// Changes it, within the class. 0 or an errno value: more than one has needs a permission.
int set_real_time_priority(int priority) noexcept;

/// A word that each thread has for itself; null at first. Unlike a thread_local, it is the same for
/// all shared objects that know the key.
class thread_key {
 public:
  thread_key() noexcept : known_(::pthread_key_create(&key_, nullptr) == 0) {}
  void* get() const noexcept { return known_ ? ::pthread_getspecific(key_) : nullptr; }
  void set(const void* word) const noexcept;

 private:
  ::pthread_key_t key_{};
  bool known_;
};

/// Lets another thread run that is ready on this processor.
THRUM_OUT_OF_LINE void yield_thread() noexcept;

/// The type of a variable that is declared with THRUM_THREAD_LOCAL.
template <class Pointer>
using thread_word = Pointer;

/// The type of an object that is declared with THRUM_THREAD_LOCAL, and with THRUM_FIXED_THREAD_LOCAL if a
/// handler uses it.
template <class T>
using thread_object = T;

/// The calling thread's own of such an object.
// UBSan of gcc 12 takes a thread_local for null.
template <class T>
THRUM_INLINE __attribute__((no_sanitize("null"))) T& of_this_thread(T& object) noexcept {
  return object;
}

/// The calling thread's own, made when it is asked for first and destroyed at the thread's end.
template <class T>
THRUM_NOINLINE T& of_this_thread() noexcept {
  asm volatile("");
  static thread_local T own;
  return own;
}

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>

#include <sched.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE int joinable_thread::start(joinable_thread& out, void* (*entry)(void*),
                                             void* argument) noexcept {
  out.require_joined();
  pthread_t fresh{};
  const int error = ::pthread_create(&fresh, nullptr, entry, argument);
  if (error == 0) {
    out.handle_ = fresh;
    out.joinable_ = true;
  }
  return error;
}

THRUM_OUT_OF_LINE void joinable_thread::join() noexcept {
  if (!joinable_ || ::pthread_join(handle_, nullptr) != 0) {
    base::fatal("thread: join: the thread is not running, or it is the calling thread");
  }
  joinable_ = false;
}

THRUM_OUT_OF_LINE void joinable_thread::require_joined() const noexcept {
  if (joinable_) {
    base::fatal("thread: the handle was destroyed or reused before the thread was joined");
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE int start_detached_thread(void* (*entry)(void*),
                                                           void* argument) noexcept {
  ::pthread_attr_t attributes;
  if (const int error = ::pthread_attr_init(&attributes); error != 0) {
    return error;
  }
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  int error = 0;
  {
    const uninterrupted inherited;
    pthread_t fresh{};
    error = ::pthread_create(&fresh, &attributes, entry, argument);
  }
  ::pthread_attr_destroy(&attributes);
  return error;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE int real_time_priority() noexcept {
  int policy = 0;
  ::sched_param parameters{};
  if (::pthread_getschedparam(::pthread_self(), &policy, &parameters) != 0 ||
      (policy != SCHED_FIFO && policy != SCHED_RR)) {
    return 0;
  }
  return parameters.sched_priority;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE int set_real_time_priority(int priority) noexcept {
  int policy = 0;
  ::sched_param parameters{};
  if (const int error = ::pthread_getschedparam(::pthread_self(), &policy, &parameters)) {
    return error;
  }
  parameters.sched_priority = priority;
  return ::pthread_setschedparam(::pthread_self(), policy, &parameters);
}

THRUM_OUT_OF_LINE void thread_key::set(const void* word) const noexcept {
  if (known_) {
    ::pthread_setspecific(key_, word);
  }
}

THRUM_OUT_OF_LINE void yield_thread() noexcept { ::sched_yield(); }

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX

#if THRUM_OS_PORTABLE && !THRUM_OS_MACOS

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>

#include <cstdint>

#include <time.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// What others see of a thread, as far as POSIX has it: its CPU time. POSIX does not say whether it
// computes or waits at this moment.

/// The part of a thread_ref that looks, as a thread_sight.
class clock_sight {
 public:
  void open() noexcept;
  void close() noexcept;
  std::int64_t cpu_now() const noexcept;
  thread_look look() const noexcept;

 private:
  base::hint<bool> is_open_{false};
  base::hint<bool> has_clock_{false};
  base::hint<::clockid_t> clock_{};
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/clock.hpp>

#include <ctime>

#include <pthread.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void clock_sight::open() noexcept {
  ::clockid_t clock{};
  const bool known = ::pthread_getcpuclockid(::pthread_self(), &clock) == 0;
  clock_.set(clock);
  has_clock_.set(known);
  is_open_.set(true);
}

THRUM_OUT_OF_LINE void clock_sight::close() noexcept {
  is_open_.set(false);
  has_clock_.set(false);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::int64_t clock_sight::cpu_now() const noexcept {
  ::timespec t{};
  if (!has_clock_.get() || ::clock_gettime(clock_.get(), &t) != 0) {
    return 0;
  }
  return std::int64_t{t.tv_sec} * nanoseconds_per_second + t.tv_nsec;
}

THRUM_OUT_OF_LINE thread_look clock_sight::look() const noexcept {
  return is_open_.get() ? thread_look::unknown : thread_look::in_system;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_PORTABLE && !THRUM_OS_MACOS
#endif  // THRUM_DETAIL_OS_POSIX_THREAD_HPP
