// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Interrupting a thread on Linux: the signal by which a processor is taken from code that computes.
//
// SIGURG, as in Go: debuggers pass it through, no library uses it, a stray one is harmless. It is
// sent with a value of ours, so that the handler knows its thread without thread-local storage
// (whose first use after a dlopen may allocate) and tells our signal from any other. Others go to
// the handler that was there before; one that is installed later is found before the next signal
// is sent, and kept in the same way (handler_chain.hpp).
//
// The handler runs on the thread's alternate stack, where it may stay for long: the goroutine that
// it interrupted has lost its processor and waits there. Its mask is empty, so that signals which
// the whole process must see (setuid, profilers) still reach the thread.
#ifndef THRUM_OS_LINUX_PREEMPT_SIGNAL_HPP
#define THRUM_OS_LINUX_PREEMPT_SIGNAL_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/base/sanitizer.hpp>
#include <thrum/os/linux/handler_chain.hpp>
#include <thrum/os/linux/memory.hpp>
#include <thrum/os/linux/note.hpp>
#include <thrum/os/linux/process_wide.hpp>

#if THRUM_OS_LINUX

#include <cerrno>

#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// ThreadSanitizer delays signals until the thread calls something it knows, and before clang 19
/// for ever while it waits for a lock.
#if THRUM_TSAN && (!defined(__clang_major__) || __clang_major__ < 19)
inline constexpr bool has_preempt_signal = false;
#else
inline constexpr bool has_preempt_signal = true;
#endif

/// The thread of ours that a signal is for; outlives it. Always of this layout: another version of
/// the library in the same process may take the signal, and serves it as well.
struct preempt_target {
  void (*interrupt)(void* argument) noexcept = nullptr;
  void* argument = nullptr;
  /// What the handler that runs now has interrupted; null outside of it, and where a sanitizer runs
  /// the handler elsewhere. Its own thread writes it.
  const void* context = nullptr;
  /// A signal without a value is on its way. A second one that is sent while the handler of the
  /// first begins is taken for another's, and passed on as a stray one.
  std::atomic<bool> unmarked{false};
};

inline constexpr int preempt_signal = SIGURG;
/// Its si_code: below 0, so not the kernel's, and not sigqueue's. Emulators keep no more than that.
inline constexpr int preempt_code = -0x7472;

/// Lies at the lowest address of a signal_stack: where an emulator refuses a signal with a value,
/// the handler finds its thread by the stack that it runs on.
struct signal_stack_mark {
  static constexpr std::uint64_t right = 0x74'68'72'75'6d'20'4d'2e;
  std::uint64_t mark = right;
  preempt_target* target = nullptr;
};

/// The handler that is ours in this process, and what else was installed for the signal.
struct urgent_handlers {
  static constexpr std::string_view process_name = "os::urgent_handlers";
  std::atomic<void (*)(int, ::siginfo_t*, void*)> ours{nullptr};
  handler_chain others;
};

/// The thread that a signal is for; null if the signal is not ours.
inline preempt_target* target_of(const ::siginfo_t& info, const void* context) noexcept {
  if (info.si_code == preempt_code) {
    return static_cast<preempt_target*>(info.si_value.sival_ptr);
  }
  const ::stack_t& stack = static_cast<const ::ucontext_t*>(context)->uc_stack;
  if (info.si_code != SI_TKILL || (stack.ss_flags & SS_DISABLE) != 0 || stack.ss_sp == nullptr) {
    return nullptr;
  }
  const auto* const mark = static_cast<const signal_stack_mark*>(stack.ss_sp);
  const bool ours = mark->mark == signal_stack_mark::right &&
                    mark->target->unmarked.exchange(false, relaxed);  // relaxed: a hint, see send
  return ours ? mark->target : nullptr;
}

THRUM_NOINLINE inline void handle_preempt_signal(int number, ::siginfo_t* info, void* context) {
  // A handler of somebody else's may call us, and may have no more than the number.
  preempt_target* const target =
      info != nullptr && context != nullptr ? target_of(*info, context) : nullptr;
  if (target != nullptr) {
    const int kept = errno;
    const void* const outer = target->context;
    if constexpr (!base::signals_are_deferred) {
      target->context = context;
    }
    target->interrupt(target->argument);
    if constexpr (!base::signals_are_deferred) {
      target->context = outer;
    }
    errno = kept;
    return;
  }
  process_wide<urgent_handlers>::get().others.pass_on(number, info, context);
}

/// Makes sure that the signal comes to us. Cheap when it does already. One thread at a time, and
/// none that could have been interrupted by it.
THRUM_NOINLINE inline void install_preempt_handler() noexcept {
  auto& known = process_wide<urgent_handlers>::get();
  auto* const handler = first_in_process(known.ours, &handle_preempt_signal);
  struct ::sigaction found {};
  if (::sigaction(preempt_signal, nullptr, &found) != 0 ||
      ((found.sa_flags & SA_SIGINFO) != 0 && found.sa_sigaction == handler)) {
    return;
  }
  known.others.found(found);
  struct ::sigaction ours {};
  ours.sa_sigaction = handler;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  ::sigaction(preempt_signal, &ours, nullptr);
}

/// Interrupts a thread of this process. False if it has ended.
THRUM_NOINLINE inline bool send_preempt_signal(std::uint64_t thread,
                                               preempt_target& target) noexcept {
  ::siginfo_t info{};
  info.si_signo = preempt_signal;
  info.si_code = preempt_code;
  info.si_value.sival_ptr = &target;
  const auto to = static_cast<::pid_t>(thread);
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), to, preempt_signal, &info) == 0) {
    return true;
  }
  target.unmarked.store(true, relaxed);  // relaxed: the signal itself orders it
  return ::syscall(SYS_tgkill, ::getpid(), to, preempt_signal) == 0;
}

/// The calling thread takes the signal from now on, whatever its mask was.
THRUM_NOINLINE inline void unblock_preempt_signal() noexcept {
  ::sigset_t urgent;
  ::sigemptyset(&urgent);
  ::sigaddset(&urgent, preempt_signal);
  ::pthread_sigmask(SIG_UNBLOCK, &urgent, nullptr);
}

/// The alternate signal stack of a thread, and what it had before.
class signal_stack {
 public:
  constexpr signal_stack() noexcept = default;
  signal_stack(const signal_stack&) = delete;
  signal_stack& operator=(const signal_stack&) = delete;

  /// Gets the memory, on any thread, before open(). False if there is none.
  bool reserve() noexcept {
    // The kernel says how large the frame of a signal is: 12 KiB where there are wide vectors.
    const std::size_t frame = ::getauxval(at_minsigstksz);
    constexpr std::size_t for_handlers = std::size_t{64} << 10;
    const std::size_t page = page_size();
    bytes_ = ((frame + for_handlers + page - 1) / page + 1) * page;
    memory_ = map(bytes_);
    if (memory_ == nullptr) {
      return false;
    }
    if (install_guard(memory_, page) == guard_kind::mprotect) {
      guards_ = 1;
    }
    return true;
  }

  /// By the thread that is to take the signal.
  void open(preempt_target& target) noexcept {
    unblock_preempt_signal();
    const std::size_t page = page_size();
    auto* const mark = ::new (static_cast<char*>(memory_) + page) signal_stack_mark;
    mark->target = &target;
    ::stack_t ours{};
    ours.ss_sp = static_cast<char*>(memory_) + page;
    ours.ss_size = bytes_ - page;
    ::sigaltstack(&ours, &before_);
  }

  /// By the same thread, last.
  void close() noexcept {
    ::sigaltstack(&before_, nullptr);
    give_back();
  }

  /// What was reserved and not opened, or is closed.
  void give_back() noexcept {
    if (memory_ != nullptr) {
      unmap(memory_, bytes_);
      return_guard_budget(guards_);
      guards_ = 0;
      memory_ = nullptr;
    }
  }

 private:
  static constexpr unsigned long at_minsigstksz = 51;  // newer than some systems' headers

  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t guards_ = 0;
  ::stack_t before_{};
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_PREEMPT_SIGNAL_HPP
