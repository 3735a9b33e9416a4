// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/preempt_signal.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_PREEMPT_SIGNAL_DEFINITION_HPP
#define THRUM_OS_POSIX_PREEMPT_SIGNAL_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/base/sanitizer.hpp>
#include <thrum/os/memory_parts.hpp>
#include <thrum/os/posix/handler_chain.hpp>
#include <thrum/os/posix/preempt_signal.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>
#include <string_view>

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The handler that is ours in this process, and what else was installed for the signal.
struct urgent_handlers {
  static constexpr std::string_view process_name = "os::urgent_handlers";
  std::atomic<void (*)(int, ::siginfo_t*, void*)> ours{nullptr};
  handler_chain others;
};

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
  sigemptyset(&ours.sa_mask);
  ::sigaction(preempt_signal, &ours, nullptr);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void unblock_preempt_signal() noexcept {
  ::sigset_t urgent;
  sigemptyset(&urgent);
  sigaddset(&urgent, preempt_signal);
  ::pthread_sigmask(SIG_UNBLOCK, &urgent, nullptr);
}

THRUM_OUT_OF_LINE bool signal_stack::reserve() noexcept {
  const std::size_t frame = signal_frame_bytes();
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
  target.unmarked.store(false, std::memory_order_relaxed);  // relaxed: none is for this thread yet
  set_up();
}

THRUM_OUT_OF_LINE bool signal_stack::open_for_faults() noexcept {
  ::stack_t there{};
  if (::sigaltstack(nullptr, &there) != 0 || (there.ss_flags & SS_DISABLE) == 0 || !reserve()) {
    return false;
  }
  set_up();
  return true;
}

THRUM_OUT_OF_LINE void signal_stack::set_up() noexcept {
  const std::size_t page = page_size();
  ::stack_t ours{};
  ours.ss_sp = static_cast<char*>(memory_) + page;
  ours.ss_size = bytes_ - page;
  ::sigaltstack(&ours, &before_);
}

THRUM_OUT_OF_LINE void signal_stack::close() noexcept {
  ::stack_t there{};
  if (::sigaltstack(nullptr, &there) == 0 &&
      there.ss_sp == static_cast<char*>(memory_) + page_size()) {
    ::sigaltstack(&before_, nullptr);
  }
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

#endif  // THRUM_OS_POSIX
#endif
