// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// OS threads on Linux: whether one has ended, and what others need of one: whether it computes or waits, its CPU
// time, and a signal to it, with a value that distinguishes it from others.
//
// A thread opens its reference itself, as most systems tell some of it to that thread alone. Others
// use it without a lock: the words are atomic, and each by itself says something true of that
// thread, or of one that had the reference before. A signal to a thread that has ended meanwhile may
// reach another one, to which the kernel has given its number; the target finds out by
// is_calling_thread().
//
// And what Linux does for the calling thread in its own way: its name and number, its CPU, how it
// sleeps; and counting threads.
#ifndef THRUM_DETAIL_OS_LINUX_THREAD_HPP
#define THRUM_DETAIL_OS_LINUX_THREAD_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Names the calling thread for debuggers and ps; what is longer than 15 bytes is cut off.
void set_thread_name(const char* name) noexcept;

/// Asks the kernel that the calling thread, when it wakes, should not wait for others to use up
/// their time on a CPU. No privilege is needed, the share of CPU time stays the same. Without
/// effect before Linux 6.12.
void ask_for_short_waits() noexcept;

/// The CPU that the calling thread runs on; it may have left it by now. No system call.
std::uint32_t current_cpu() noexcept;

/// The kernel's number of the calling thread: unique in the system while the thread lives. A system
/// call. May be called from a signal handler.
std::uint64_t thread_id() noexcept;

/// Threads of this process, also those of others; 0 if the system does not say. No malloc.
std::size_t count_threads() noexcept;

/// Blocks the thread for ns nanoseconds, through any number of signals; at once when ns <= 0.
/// May be called from a signal handler.
THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/clock.hpp>

#include <cerrno>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void set_thread_name(const char* name) noexcept {
  constexpr std::size_t limit = 16;  // kernel: TASK_COMM_LEN, with the terminating zero
  char text[limit] = {};
  for (std::size_t i = 0; i + 1 < limit && name[i] != '\0'; ++i) {
    text[i] = name[i];
  }
  ::pthread_setname_np(::pthread_self(), text);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void ask_for_short_waits() noexcept {
  if constexpr (THRUM_TRIES_SYSTEM_CALLS == 0) {
    return;
  }
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

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint32_t current_cpu() noexcept {
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? 0 : static_cast<std::uint32_t>(cpu);
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

THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept {
  if (ns <= 0) {
    return;
  }
  const ::timespec until = to_timespec(deadline_after(ns));
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/posix/preempt_signal.hpp>
#include <thrum/detail/os/posix/thread.hpp>

#include <climits>
#include <cstdint>
#include <ctime>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Handle of a running OS thread. Must be joined before it is destroyed or assigned to.
class thread : public joinable_thread {
 public:
  /// Whether the thread has ended; if so it is joined. Does not block.
  [[nodiscard]] bool try_join() noexcept;
};

using namespace base::orders;

/// A thread of this process as others see it. All but open() and close() may be called by any
/// thread, without malloc and without a lock.
class thread_ref {
 public:
  /// Whether cpu_now() has steps of less than a millisecond.
  static constexpr bool has_fine_clock = true;

  constexpr thread_ref() noexcept = default;
  thread_ref(const thread_ref&) = delete;
  thread_ref& operator=(const thread_ref&) = delete;

  /// The calling thread's from now on. Others may ask of the one before meanwhile.
  void open() noexcept;

  /// No thread's any more: interrupt() returns false. Its own thread calls it, last.
  void close() noexcept { tid_.set(0); }

  /// The kernel's number of the thread; 0: there is none.
  std::uint64_t number() const noexcept { return tid_.get(); }

  /// Whether it is the calling thread's. A system call; for handlers, too.
  bool is_calling_thread() const noexcept;

  /// Nanoseconds of CPU time so far, 0 if the thread has ended or the system does not say. About
  /// 300 ns.
  std::int64_t cpu_now() const noexcept {
    ::timespec t{};
    const ::clockid_t clock = clock_.get();
    if (clock == unknown || ::clock_gettime(clock, &t) != 0) {
      return 0;
    }
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }

  /// What the thread does. Some 10 us.
  thread_look look() const noexcept;

  /// Whether the thread sleeps for a time that it has chosen, and does not wait for another thread.
  /// False where the system does not say.
  bool naps() const noexcept;

  /// Has target.interrupt called on that thread, wherever it is. False if there is no thread, or it
  /// has ended.
  bool interrupt(preempt_target& target) const noexcept;

 private:
  static constexpr ::clockid_t unknown = INT_MAX;
  base::hint<::clockid_t> clock_{unknown};
  base::hint<std::uint64_t> tid_{0};  // 0: no thread
};

/// Its si_code: below 0, so not the kernel's, and not sigqueue's. Emulators keep no more than that.
inline constexpr int preempt_code = -0x7472;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/message.hpp>

#include <cstddef>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE bool thread::try_join() noexcept {
  if (!joinable_ || ::pthread_tryjoin_np(handle_, nullptr) != 0) {
    return false;
  }
  joinable_ = false;
  return true;
}

using namespace base::orders;

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_ref::open() noexcept {
  ::clockid_t own{};
  const bool known = ::pthread_getcpuclockid(::pthread_self(), &own) == 0;
  tid_.set(thread_id());
  clock_.set(known ? own : unknown);
}

THRUM_OUT_OF_LINE bool thread_ref::is_calling_thread() const noexcept {
  return tid_.get() == thread_id();
}

/// The text of a file that the system keeps for each thread, as much as `buffer` takes; empty where
/// there is none. Some 10 us; no malloc, no lock.
THRUM_NOINLINE inline std::string_view about_thread(std::uint64_t thread, std::string_view file,
                                                    char (&buffer)[256]) noexcept {
  base::message<64> path("/proc/self/task/");
  path.append(thread).append(file).append(std::string_view("\0", 1));
  const int fd = ::open(path.view().data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return {};
  }
  const ssize_t length = ::read(fd, buffer, sizeof buffer);
  ::close(fd);
  return {buffer, length > 0 ? static_cast<std::size_t>(length) : 0};
}

THRUM_NOINLINE THRUM_OUT_OF_LINE thread_look thread_ref::look() const noexcept {
  const std::uint64_t thread = tid_.get();
  if (thread == 0) {
    return thread_look::in_system;
  }
  char buffer[256];
  // "number (name) state ...", where the name may hold anything.
  const std::string_view stat = about_thread(thread, "/stat", buffer);
  const std::size_t at = stat.rfind(") ");
  if (at == stat.npos || at + 2 >= stat.size()) {
    return thread_look::unknown;
  }
  if (stat[at + 2] == 'R') {
    return thread_look::computes;
  }
  // "-1" in place of the number of a call, "running" if it is back.
  const std::string_view call = about_thread(thread, "/syscall", buffer);
  return call.starts_with("-1 ")       ? thread_look::in_fault
         : call.starts_with("running") ? thread_look::computes
                                       : thread_look::in_system;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_ref::naps() const noexcept {
  char buffer[256];
  const std::string_view call = about_thread(tid_.get(), "/syscall", buffer);
  // The last is the second with 64 bits of seconds, on processors of 32 bits.
  constexpr long clock_nanosleep_time64 = sizeof(long) == 4 ? 407 : SYS_clock_nanosleep;
  for (const long number :
       {long{SYS_nanosleep}, long{SYS_clock_nanosleep}, clock_nanosleep_time64}) {
    base::message<32> wanted;
    wanted.append(static_cast<std::uint64_t>(number)).append(" ");
    if (call.substr(0, wanted.view().size()) == wanted.view()) {
      return true;
    }
  }
  return false;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_ref::interrupt(preempt_target& target) const noexcept {
  const auto to = static_cast<::pid_t>(tid_.get());
  if (to == 0) {
    return false;
  }
  ::siginfo_t info{};
  info.si_signo = preempt_signal;
  info.si_code = preempt_code;
  info.si_value.sival_ptr = &target;
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), to, preempt_signal, &info) == 0) {
    return true;
  }
  if (!target.is_to_be_sent() || ::syscall(SYS_tgkill, ::getpid(), to, preempt_signal) == 0) {
    return true;
  }
  target.unmarked.store(false, relaxed);  // relaxed: there is no signal that it could order
  return false;
}

}}}  // namespace thrum::THRUM_ABI::os

// What Linux does in its own way for os/posix/preempt_signal.hpp: target_of, signal_frame_bytes.

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Where an emulator refuses a signal with a value, the handler finds its thread by its stack.
THRUM_OUT_OF_LINE preempt_target* target_of(const ::siginfo_t& info, const void* context) noexcept {
  if (info.si_code == preempt_code) {
    return static_cast<preempt_target*>(info.si_value.sival_ptr);
  }
  const ::stack_t& stack = static_cast<const ::ucontext_t*>(context)->uc_stack;
  if (info.si_code != SI_TKILL || (stack.ss_flags & SS_DISABLE) != 0 || stack.ss_sp == nullptr) {
    return nullptr;
  }
  return signal_stack_mark::target_at(stack.ss_sp);
}

/// The kernel says it: 12 KiB where there are wide vectors.
THRUM_OUT_OF_LINE std::size_t signal_frame_bytes() noexcept {
  constexpr unsigned long at_minsigstksz = 51;  // newer than some systems' headers
  return ::getauxval(at_minsigstksz);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_LINUX_THREAD_HPP
