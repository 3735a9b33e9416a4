// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Timers that run while a thread computes, and their signal: Linux has them.
#ifndef THRUM_DETAIL_OS_CPU_TIMER_HPP
#define THRUM_DETAIL_OS_CPU_TIMER_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/os/linux/free_signal.hpp>
#include <thrum/detail/os/linux/thread.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// The signal is a real-time signal that the program does not use: SIGPROF, which profilers of the process use, and
// its timer stay the program's. The handler stays when the timers are gone, because a signal may be on its way.

/// A signal of one of these timers, in its handler.
struct cpu_timer_signal {
  std::uint32_t value = 0;         ///< that the timer was opened with
  std::uint32_t periods = 1;       ///< that have passed since the last one
  const void* context = nullptr;   ///< what was interrupted
  std::uintptr_t signals_low = 0;  ///< the extent of the thread's signal stack
  std::uintptr_t signals_high = 0;
};

class cpu_timer {
 public:
  /// ThreadSanitizer calls handlers elsewhere, and later.
  static constexpr bool exists = !base::signals_are_deferred;

  constexpr cpu_timer() noexcept = default;
  cpu_timer(const cpu_timer&) = delete;
  cpu_timer& operator=(const cpu_timer&) = delete;

  /// Has `handler` called in that thread of this process when it has computed for `first_ns`, more than 0, and then after each period. False: the system
  /// refuses it, or the thread has ended. install() comes first.
  bool open(std::uint64_t thread, std::uint32_t value, std::int64_t first_ns,
            std::int64_t period_ns) noexcept {
    struct {  // sigevent, in which not each C library names the thread
      union {
        std::uint32_t number;
        void* pointer;
      } value;
      std::int32_t signal, notify, thread;
      char rest[64];
    } event{};
    event.value.number = value;
    event.signal = the_signal.get();
    event.notify = SIGEV_SIGNAL | 4;  // SIGEV_THREAD_ID
    event.thread = static_cast<std::int32_t>(thread);
    constexpr std::uint32_t of_one_thread = 4, time_on_cpu = 2;
    const auto clock = static_cast<::clockid_t>(~static_cast<std::uint32_t>(thread) << 3 |
                                                of_one_thread | time_on_cpu);
    if (::syscall(SYS_timer_create, clock, &event, &id_) != 0) {
      return false;
    }
    constexpr std::int64_t second = 1'000'000'000;
    const long times[4] = {
        base::convert<long>(period_ns / second), base::convert<long>(period_ns % second),
        base::convert<long>(first_ns / second), base::convert<long>(first_ns % second)};
#if defined(SYS_timer_settime)
    constexpr long set_time = SYS_timer_settime;
#else
    constexpr long set_time = SYS_timer_settime32;
#endif
    is_open_ = true;
    if (::syscall(set_time, id_, 0, times, nullptr) != 0) {
      close();
      return false;
    }
    return true;
  }

  void close() noexcept {
    if (is_open_) {
      is_open_ = false;
      ::syscall(SYS_timer_delete, id_);
    }
  }

  /// What the handler of another signal has interrupted, if `context` is of that handler, whose stack pointer is `sp`: where
  /// two signals come together, the one with the lower number has not begun. Its record lies above, on the signal stack, and
  /// holds the extent of that stack. Null: there is none.
  THRUM_NOINLINE THRUM_NO_SANITIZE static const void* outer_context(const void* context,
                                                                    std::uintptr_t sp) noexcept {
    const ::stack_t& stack = static_cast<const ::ucontext_t*>(context)->uc_stack;
    const auto low = reinterpret_cast<std::uintptr_t>(stack.ss_sp);
    const std::uintptr_t high = low + stack.ss_size;
    for (std::uintptr_t at = sp / 16 * 16;
         at >= low && at < high && high - at >= sizeof(::ucontext_t); at += sizeof at) {
      const std::uintptr_t found = at + offsetof(::ucontext_t, uc_stack);
      if (*reinterpret_cast<const std::uintptr_t*>(found + offsetof(::stack_t, ss_sp)) == low &&
          *reinterpret_cast<const std::size_t*>(found + offsetof(::stack_t, ss_size)) ==
              stack.ss_size) {
        return reinterpret_cast<const void*>(at);
      }
    }
    return nullptr;
  }

  /// Chooses the signal and installs the handler, which may allocate nothing. False: each real-time signal has a
  /// handler. One thread at a time.
  static bool install(void (*handler)(const cpu_timer_signal&) noexcept) noexcept {
    the_handler.set(handler);
    if (const int before = the_signal.get(); before != 0 && is_ours(before)) {
      return true;
    }
    struct ::sigaction ours {};
    ours.sa_sigaction = &handle;
    // A preempted goroutine stays in a handler for long: other signals wait until it ends.
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    const int signal = install_at_free_signal(ours);
    if (signal != 0) {
      the_signal.set(signal);
    }
    return signal != 0;
  }

 private:
  static inline constinit base::hint<int> the_signal{0};
  static inline constinit base::hint<void (*)(const cpu_timer_signal&) noexcept> the_handler{
      nullptr};

  static bool is_ours(int signal) noexcept {
    struct ::sigaction found {};
    return ::sigaction(signal, nullptr, &found) == 0 && (found.sa_flags & SA_SIGINFO) != 0 &&
           found.sa_sigaction == &handle;
  }

  THRUM_NOINLINE static void handle(int, ::siginfo_t* info, void* context) noexcept {
    if (info == nullptr || context == nullptr || info->si_code != SI_TIMER) {
      return;
    }
    const int kept = errno;
    const int missed = info->si_overrun;
    const ::stack_t& stack = static_cast<const ::ucontext_t*>(context)->uc_stack;
    const auto low = reinterpret_cast<std::uintptr_t>(stack.ss_sp);
    the_handler.get()({static_cast<std::uint32_t>(info->si_value.sival_int),
                       1 + static_cast<std::uint32_t>(missed < 0 ? 0 : missed), context, low,
                       low + stack.ss_size});
    errno = kept;
  }

  int id_ = 0;
  bool is_open_ = false;
};

/// The kernel's number of a thread, as cpu_timer wants it; 0: it has none now.
template <class ThreadRef>
std::uint64_t number_of(const ThreadRef& thread) noexcept {
  return thread.number();
}

}}}  // namespace thrum::THRUM_ABI::os

#else

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

struct cpu_timer_signal {
  std::uint32_t value = 0;
  std::uint32_t periods = 1;
  const void* context = nullptr;
  std::uintptr_t signals_low = 0;
  std::uintptr_t signals_high = 0;
};

struct cpu_timer {
  static constexpr bool exists = false;
  static bool open(std::uint64_t, std::uint32_t, std::int64_t, std::int64_t) noexcept {
    return false;
  }
  static void close() noexcept {}
  static const void* outer_context(const void*, std::uintptr_t) noexcept { return nullptr; }
  static bool install(void (*)(const cpu_timer_signal&) noexcept) noexcept { return false; }
};

template <class ThreadRef>
std::uint64_t number_of(const ThreadRef&) noexcept {
  return 0;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif
#endif  // THRUM_DETAIL_OS_CPU_TIMER_HPP
