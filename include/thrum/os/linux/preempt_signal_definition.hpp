// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/preempt_signal.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_PREEMPT_SIGNAL_DEFINITION_HPP
#define THRUM_OS_LINUX_PREEMPT_SIGNAL_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/base/order.hpp>
#include <thrum/base/sanitizer.hpp>
#include <thrum/os/linux/handler_chain.hpp>
#include <thrum/os/linux/memory.hpp>
#include <thrum/os/linux/preempt_signal.hpp>
#include <thrum/os/linux/process_wide.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

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

THRUM_NOINLINE THRUM_OUT_OF_LINE void install_preempt_handler() noexcept {
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

THRUM_NOINLINE THRUM_OUT_OF_LINE bool send_preempt_signal(std::uint64_t thread,
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

THRUM_NOINLINE THRUM_OUT_OF_LINE void unblock_preempt_signal() noexcept {
  ::sigset_t urgent;
  ::sigemptyset(&urgent);
  ::sigaddset(&urgent, preempt_signal);
  ::pthread_sigmask(SIG_UNBLOCK, &urgent, nullptr);
}

THRUM_OUT_OF_LINE bool signal_stack::reserve() noexcept {
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

THRUM_OUT_OF_LINE void signal_stack::open(preempt_target& target) noexcept {
  unblock_preempt_signal();
  const std::size_t page = page_size();
  auto* const mark = ::new (static_cast<char*>(memory_) + page) signal_stack_mark;
  mark->target = &target;
  ::stack_t ours{};
  ours.ss_sp = static_cast<char*>(memory_) + page;
  ours.ss_size = bytes_ - page;
  ::sigaltstack(&ours, &before_);
}

THRUM_OUT_OF_LINE void signal_stack::close() noexcept {
  ::sigaltstack(&before_, nullptr);
  give_back();
}

THRUM_OUT_OF_LINE void signal_stack::give_back() noexcept {
  if (memory_ != nullptr) {
    unmap(memory_, bytes_);
    return_guard_budget(guards_);
    guards_ = 0;
    memory_ = nullptr;
  }
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
