// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What FreeBSD does for the calling thread in its own way: its name and number, its CPU, how it sleeps.
//
// What others see of a thread, on FreeBSD: its CPU time by the clock that POSIX has, and its state in
// the list of the process's threads, the only place that tells it.
#ifndef THRUM_DETAIL_OS_FREEBSD_THREAD_HPP
#define THRUM_DETAIL_OS_FREEBSD_THREAD_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_FREEBSD

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/posix/thread.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Names the calling thread for debuggers and ps, cut to 19 bytes.
void set_thread_name(const char* name) noexcept;

/// Does nothing: no such wish is known to the system.
inline void ask_for_short_waits() noexcept {}

/// The CPU that the calling thread runs on; it may have left it by now.
std::uint32_t current_cpu() noexcept;

/// The kernel's number of the calling thread: unique in the system while the thread lives. May be
/// called from a signal handler.
std::uint64_t thread_id() noexcept;

/// 0: the system does not say without reading much, and not how many are its own.
inline std::size_t count_threads() noexcept { return 0; }

/// Blocks the thread for ns nanoseconds, through any number of signals; at once when ns <= 0.
/// May be called from a signal handler.
void sleep_ns(std::int64_t ns) noexcept;

/// The part of a thread_ref that looks.
class thread_sight : public clock_sight {
 public:
  void open() noexcept;
  void close() noexcept;

  /// Unknown if there are so many threads that this one is not among those that the kernel lists.
  thread_look look() const noexcept;

 private:
  base::hint<std::uint64_t> tid_{0};  // 0: no thread
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/clock.hpp>
#include <thrum/detail/os/memory_parts.hpp>

#include <cerrno>
#include <ctime>

#include <pthread.h>
#include <pthread_np.h>
#include <sched.h>
#include <sys/param.h>
#include <sys/proc.h>
#include <sys/sysctl.h>
#include <sys/types.h>
#include <sys/user.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void set_thread_name(const char* name) noexcept {
  ::pthread_setname_np(::pthread_self(), name);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint32_t current_cpu() noexcept {
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? 0 : static_cast<std::uint32_t>(cpu);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint64_t thread_id() noexcept {
  return static_cast<std::uint64_t>(::pthread_getthreadid_np());
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept {
  if (ns <= 0) {
    return;
  }
  const int before = errno;
  const ::timespec until = to_timespec(deadline_after(ns));
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
  errno = before;
}

THRUM_OUT_OF_LINE void thread_sight::open() noexcept {
  clock_sight::open();
  tid_.set(thread_id());
}

THRUM_OUT_OF_LINE void thread_sight::close() noexcept {
  clock_sight::close();
  tid_.set(0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE thread_look thread_sight::look() const noexcept {
  const std::uint64_t tid = tid_.get();
  if (tid == 0) {
    return thread_look::in_system;
  }
  // In memory of its own: more than some stacks have, and malloc may be locked.
  constexpr std::size_t most_threads = 256;
  std::size_t bytes = most_threads * sizeof(::kinfo_proc);
  const std::size_t mapped = bytes;
  auto* const threads = static_cast<::kinfo_proc*>(map(mapped));
  if (threads == nullptr) {
    return thread_look::unknown;
  }
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID | KERN_PROC_INC_THREAD, ::getpid()};
  // If there is no room for all, it fails and has listed the first ones.
  ::sysctl(name, 4, threads, &bytes, nullptr, 0);
  thread_look seen = thread_look::unknown;
  for (std::size_t i = 0; i != most_threads; ++i) {  // where nothing is listed there are zeros
    if (static_cast<std::uint64_t>(threads[i].ki_tid) == tid) {
      seen = threads[i].ki_stat == SRUN ? thread_look::computes : thread_look::in_system;
    }
  }
  unmap(threads, mapped);
  return seen;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif

#endif
#endif  // THRUM_DETAIL_OS_FREEBSD_THREAD_HPP
