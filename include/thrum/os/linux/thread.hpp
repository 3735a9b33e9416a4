// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// OS threads on Linux: starting and joining one, its name and number, counting, yielding, sleeping.
//
// std::thread is not used: it allocates, throws, and its header is too dear for this floor.
//
// Whatever reads errno or the thread pointer is not inlined: the compiler takes their addresses for
// constants of a function, and a function that parks may go on running on another thread.
#ifndef THRUM_OS_LINUX_THREAD_HPP
#define THRUM_OS_LINUX_THREAD_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/os/linux/clock.hpp>

#if THRUM_OS_LINUX

#include <atomic>
#include <cerrno>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Handle of a running OS thread. Must be joined before it is destroyed or assigned to.
class thread {
 public:
  constexpr thread() noexcept = default;
  thread(thread&& other) noexcept : handle_(other.handle_), joinable_(other.joinable_) {
    other.joinable_ = false;
  }
  thread& operator=(thread&& other) noexcept {
    require_joined();
    handle_ = other.handle_;
    joinable_ = other.joinable_;
    other.joinable_ = false;
    return *this;
  }
  ~thread() { require_joined(); }

  /// Starts a thread that calls entry(argument). Returns 0, or an errno value and leaves `out`
  /// alone. Allocates and takes locks of the C library: not for a signal handler, nor for the
  /// monitor.
  [[nodiscard]] static int start(thread& out, void* (*entry)(void*), void* argument) noexcept {
    out.require_joined();
    pthread_t handle{};
    const int error = ::pthread_create(&handle, nullptr, entry, argument);
    if (error == 0) {
      out.handle_ = handle;
      out.joinable_ = true;
    }
    return error;
  }

  /// Blocks until the thread has ended.
  void join() noexcept {
    if (!joinable_ || ::pthread_join(handle_, nullptr) != 0) {
      base::fatal("thread: join of a thread that is not running or is the calling one");
    }
    joinable_ = false;
  }

  /// Whether the thread has ended; if so it is joined. Does not block.
  [[nodiscard]] bool try_join() noexcept {
    if (!joinable_ || ::pthread_tryjoin_np(handle_, nullptr) != 0) {
      return false;
    }
    joinable_ = false;
    return true;
  }

  [[nodiscard]] bool joinable() const noexcept { return joinable_; }

 private:
  void require_joined() const noexcept {
    if (joinable_) {
      base::fatal("thread: a handle was given up before the thread was joined");
    }
  }

  pthread_t handle_{};
  bool joinable_ = false;
};

/// Starts a thread that calls entry(argument), takes no signals, and is never joined: it may still
/// run when the process ends. 0 or an errno value. Allocates and takes locks of the C library.
[[nodiscard]] THRUM_NOINLINE inline int start_detached_thread(void* (*entry)(void*),
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

/// How many threads of this process are in a bystander_scope.
inline constinit std::atomic<unsigned> bystanders{0};

/// The calling thread makes no goroutine runnable from here on, but for taking and releasing locks:
/// nobody can hope for it.
class bystander_scope {
 public:
  // relaxed: each counts itself, and a thread that is not counted yet, or not any more, may as well
  // be any thread
  bystander_scope() noexcept { bystanders.fetch_add(1, std::memory_order_relaxed); }
  ~bystander_scope() { bystanders.fetch_sub(1, std::memory_order_relaxed); }  // relaxed: as above
  bystander_scope(const bystander_scope&) = delete;
  bystander_scope& operator=(const bystander_scope&) = delete;
};

/// Names the calling thread for debuggers and ps; what is longer than 15 bytes is cut off.
THRUM_NOINLINE inline void set_thread_name(const char* name) noexcept {
  constexpr std::size_t limit = 16;  // kernel: TASK_COMM_LEN, with the terminating zero
  char text[limit] = {};
  for (std::size_t i = 0; i + 1 < limit && name[i] != '\0'; ++i) {
    text[i] = name[i];
  }
  ::pthread_setname_np(::pthread_self(), text);
}

/// Asks the kernel that the calling thread, when it wakes, should not wait for others to use up
/// their time on a CPU. No privilege is needed, the share of CPU time stays the same. Without
/// effect before Linux 6.12.
THRUM_NOINLINE inline void ask_for_short_waits() noexcept {
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

/// The priority of the calling thread in a real-time class, of which a thread runs until it sleeps
/// or one of a higher priority is ready; 0: it is in none.
THRUM_NOINLINE inline int real_time_priority() noexcept {
  int policy = 0;
  ::sched_param parameters{};
  if (::pthread_getschedparam(::pthread_self(), &policy, &parameters) != 0 ||
      (policy != SCHED_FIFO && policy != SCHED_RR)) {
    return 0;
  }
  return parameters.sched_priority;
}

/// Changes it, within the class. 0 or an errno value: more than one has needs a permission.
THRUM_NOINLINE inline int set_real_time_priority(int priority) noexcept {
  int policy = 0;
  ::sched_param parameters{};
  if (const int error = ::pthread_getschedparam(::pthread_self(), &policy, &parameters)) {
    return error;
  }
  parameters.sched_priority = priority;
  return ::pthread_setschedparam(::pthread_self(), policy, &parameters);
}

/// The CPU that the calling thread runs on; it may have left it by now. No system call.
THRUM_NOINLINE inline std::uint32_t current_cpu() noexcept {
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? 0 : static_cast<std::uint32_t>(cpu);
}

/// A word that each thread has for itself; null at first. Unlike a thread_local, it is the same for
/// all shared objects that know the key.
class thread_key {
 public:
  thread_key() noexcept : known_(::pthread_key_create(&key_, nullptr) == 0) {}
  void* get() const noexcept { return known_ ? ::pthread_getspecific(key_) : nullptr; }
  void set(const void* word) const noexcept {
    if (known_) {
      ::pthread_setspecific(key_, word);
    }
  }

 private:
  ::pthread_key_t key_{};
  bool known_;
};

/// The kernel's number of the calling thread: unique in the system while the thread lives. A system
/// call. May be called from a signal handler.
THRUM_NOINLINE inline std::uint64_t thread_id() noexcept {
  return static_cast<std::uint64_t>(::syscall(SYS_gettid));
}

/// Threads of this process, also those of others; 0 if the system does not say. No malloc.
THRUM_NOINLINE inline std::size_t count_threads() noexcept {
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

/// Lets another thread run that is ready on this processor.
inline void yield_thread() noexcept { ::sched_yield(); }

/// Blocks the thread for ns nanoseconds, through any number of signals; at once when ns <= 0.
/// May be called from a signal handler.
inline void sleep_ns(std::int64_t ns) noexcept {
  if (ns <= 0) {
    return;
  }
  const ::timespec until = to_timespec(deadline_after(ns));
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_THREAD_HPP
