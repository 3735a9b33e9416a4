// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/thread.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_THREAD_DEFINITION_HPP
#define THRUM_OS_POSIX_THREAD_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/base/fatal.hpp>
#include <thrum/os/posix/thread.hpp>
#include <thrum/os/posix/uninterrupted.hpp>

#include <pthread.h>
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
    base::fatal("thread: join of a thread that is not running or is the calling one");
  }
  joinable_ = false;
}

THRUM_OUT_OF_LINE void joinable_thread::require_joined() const noexcept {
  if (joinable_) {
    base::fatal("thread: a handle was given up before the thread was joined");
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

#endif  // THRUM_OS_POSIX
#endif
