// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What macOS and FreeBSD do for the calling thread in their own way: its name and number, its CPU, how it sleeps.
//
// What others see of a thread, on macOS: the kernel says in one call how much CPU time it has used
// and whether it runs.
#ifndef THRUM_DETAIL_OS_BSD_THREAD_HPP
#define THRUM_DETAIL_OS_BSD_THREAD_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_MACOS

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>

#include <cstddef>
#include <cstdint>

#include <mach/mach_types.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Names the calling thread for debuggers and ps, cut to 63 bytes.
void set_thread_name(const char* name) noexcept;

/// Does nothing: the system decides by classes of service, which are the program's.
inline void ask_for_short_waits() noexcept {}

/// The CPU that the calling thread runs on; 0: a program is not told.
inline std::uint32_t current_cpu() noexcept { return 0; }

/// The kernel's number of the calling thread: unique in the system while the thread lives. May be
/// called from a signal handler.
std::uint64_t thread_id() noexcept;

/// 0: the system does not say without reading much, and not how many are its own.
inline std::size_t count_threads() noexcept { return 0; }

/// Blocks the thread for ns nanoseconds, through any number of signals; at once when ns <= 0.
/// May be called from a signal handler.
void sleep_ns(std::int64_t ns) noexcept;

/// The part of a thread_ref that looks.
class thread_sight {
 public:
  void open() noexcept;
  void close() noexcept;
  std::int64_t cpu_now() const noexcept;
  thread_look look() const noexcept;

 private:
  base::hint<::thread_t> port_{0};  // 0: no thread
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/clock.hpp>

#include <cerrno>
#include <ctime>

#include <mach/mach.h>
#include <mach/thread_act.h>
#include <mach/thread_info.h>
#include <pthread.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void set_thread_name(const char* name) noexcept {
  ::pthread_setname_np(name);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint64_t thread_id() noexcept {
  std::uint64_t number = 0;
  ::pthread_threadid_np(nullptr, &number);
  return number;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept {
  const int before = errno;
  const std::int64_t end = deadline_after(ns);
  for (std::int64_t left = ns; left > 0; left = end - now()) {
    const ::timespec rest = to_timespec(left);
    ::nanosleep(&rest, nullptr);
  }
  errno = before;
}

/// The port's name is the thread's own, and no right of ours: it means nothing once the thread has
/// ended.
THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_sight::open() noexcept {
  port_.set(::pthread_mach_thread_np(::pthread_self()));
}

THRUM_OUT_OF_LINE void thread_sight::close() noexcept { port_.set(0); }

/// False: there is no such thread.
inline bool ask_for_thread(::thread_t port, ::thread_basic_info& found) noexcept {
  ::mach_msg_type_number_t words = THREAD_BASIC_INFO_COUNT;
  return port != 0 &&
         ::thread_info(port, THREAD_BASIC_INFO, reinterpret_cast<::thread_info_t>(&found),
                       &words) == KERN_SUCCESS;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::int64_t thread_sight::cpu_now() const noexcept {
  ::thread_basic_info found{};
  if (!ask_for_thread(port_.get(), found)) {
    return 0;
  }
  const auto ns = [](const ::time_value& time) {
    return std::int64_t{time.seconds} * nanoseconds_per_second +
           std::int64_t{time.microseconds} * 1000;
  };
  return ns(found.user_time) + ns(found.system_time);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE thread_look thread_sight::look() const noexcept {
  ::thread_basic_info found{};
  return ask_for_thread(port_.get(), found) && found.run_state == TH_STATE_RUNNING
             ? thread_look::computes
             : thread_look::in_system;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_MACOS

#if THRUM_OS_FREEBSD

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/posix/thread.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// What others see of a thread, on FreeBSD: its CPU time by the clock that POSIX has, and its state in
// the list of the process's threads, the only place that tells it.

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

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_DETAIL_OS_BSD_THREAD_HPP
