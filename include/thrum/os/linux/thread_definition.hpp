// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/thread.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_THREAD_DEFINITION_HPP
#define THRUM_OS_LINUX_THREAD_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/base/fatal.hpp>
#include <thrum/os/linux/clock.hpp>
#include <thrum/os/linux/thread.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE int thread::start(thread& out, void* (*entry)(void*), void* argument) noexcept {
  out.require_joined();
  pthread_t handle{};
  const int error = ::pthread_create(&handle, nullptr, entry, argument);
  if (error == 0) {
    out.handle_ = handle;
    out.joinable_ = true;
  }
  return error;
}

THRUM_OUT_OF_LINE void thread::join() noexcept {
  if (!joinable_ || ::pthread_join(handle_, nullptr) != 0) {
    base::fatal("thread: join of a thread that is not running or is the calling one");
  }
  joinable_ = false;
}

THRUM_OUT_OF_LINE bool thread::try_join() noexcept {
  if (!joinable_ || ::pthread_tryjoin_np(handle_, nullptr) != 0) {
    return false;
  }
  joinable_ = false;
  return true;
}

THRUM_OUT_OF_LINE void thread::require_joined() const noexcept {
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
  ::sigset_t all;
  ::sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t handle{};
  const int error = ::pthread_create(&handle, &attributes, entry, argument);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return error;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void set_thread_name(const char* name) noexcept {
  constexpr std::size_t limit = 16;  // kernel: TASK_COMM_LEN, with the terminating zero
  char text[limit] = {};
  for (std::size_t i = 0; i + 1 < limit && name[i] != '\0'; ++i) {
    text[i] = name[i];
  }
  ::pthread_setname_np(::pthread_self(), text);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void ask_for_short_waits() noexcept {
  struct {  // sched_attr, which the C library does not declare
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{};
  attributes.size = sizeof attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0 &&
      attributes.policy == SCHED_OTHER) {
    attributes.runtime = 100'000;  // ns of a slice: the shortest there is
    ::syscall(SYS_sched_setattr, 0, &attributes, 0);
  }
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

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint32_t current_cpu() noexcept {
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? 0 : static_cast<std::uint32_t>(cpu);
}

THRUM_OUT_OF_LINE void thread_key::set(const void* word) const noexcept {
  if (known_) {
    ::pthread_setspecific(key_, word);
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint64_t thread_id() noexcept {
  return static_cast<std::uint64_t>(::syscall(SYS_gettid));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::size_t count_threads() noexcept {
  char text[4096];
  const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return 0;
  }
  const ssize_t length = ::read(fd, text, sizeof text);
  ::close(fd);
  const std::string_view status(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  constexpr std::string_view key = "\nThreads:\t";
  std::size_t n = 0;
  const std::size_t at = status.find(key);
  for (std::size_t i = at + key.size(); at != status.npos && i < status.size(); ++i) {
    if (status[i] < '0' || status[i] > '9') {
      break;
    }
    n = n * 10 + static_cast<std::size_t>(status[i] - '0');
  }
  return n;
}

THRUM_OUT_OF_LINE void yield_thread() noexcept { ::sched_yield(); }

THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept {
  if (ns <= 0) {
    return;
  }
  const ::timespec until = to_timespec(deadline_after(ns));
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
