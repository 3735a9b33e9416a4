// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Interrupting a thread: the signal by which a processor is taken from code that computes.
//
// SIGURG, as in Go: debuggers pass it through, no library uses it, a stray one is harmless. How the
// handler knows its thread without thread-local storage (whose first use after a dlopen may
// allocate), and tells our signal from any other, is the system's: by a value that is sent with it
// (os/linux/thread.hpp), or by the stack that it runs on (thread_ref.hpp). Others go to the
// handler that was there before; one that is installed later is found before the next signal
// is sent, and kept in the same way (handler_chain.hpp).
//
// The handler runs on the thread's alternate stack, where it may stay for long: the goroutine that
// it interrupted has lost its processor and waits there. Its mask is empty, so that signals which
// the whole process must see (setuid, profilers) still reach the thread.
#ifndef THRUM_DETAIL_OS_POSIX_PREEMPT_SIGNAL_HPP
#define THRUM_DETAIL_OS_POSIX_PREEMPT_SIGNAL_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>

#if THRUM_OS_POSIX

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

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
  /// first begins is taken for another's, and passed on as a stray one; so see is_to_be_sent.
  std::atomic<bool> unmarked{false};
  /// How many were wanted while one was on its way.
  base::shared_figure<std::uint32_t> repeated{0};

  /// Called before a signal without a value is sent. False: one is on its way, and is as good. A foreign
  /// handler may have swallowed that one, so sometimes another is sent all the same.
  bool is_to_be_sent() noexcept {
    constexpr std::uint32_t patience = 8;  // rounds of the monitor: fewer than make it unresponsive
    // [ps.unmarked >] release: what is asked of the thread; sees: the handler that takes the mark
    return !unmarked.exchange(true, std::memory_order_release) ||
           repeated.add() % patience == patience - 1;
  }
};

inline constexpr int preempt_signal = SIGURG;

/// Makes sure that the signal comes to us. Cheap when it does already. One thread at a time, and
/// none that could have been interrupted by it.
void install_preempt_handler() noexcept;

/// The thread that a signal is for; null if the signal is not ours. In the handler.
preempt_target* target_of(const ::siginfo_t& info, const void* context) noexcept;

/// How large the frame of a signal may be.
std::size_t signal_frame_bytes() noexcept;

/// Lies at the lowest address of a signal_stack: by it a handler finds its thread where the signal
/// does not say.
struct signal_stack_mark {
  static constexpr std::uint64_t right = 0x74'68'72'75'6d'20'4d'2e;
  std::uint64_t mark = right;
  preempt_target* target = nullptr;

  /// The target of this signal stack, if it is one of ours and a signal without a value is on its
  /// way.
  static preempt_target* target_at(const void* stack) noexcept {
    const auto* const found = static_cast<const signal_stack_mark*>(stack);
    const bool ours = found->mark == right &&
                      // [ps.unmarked <] acquire: what is asked, also by those that sent no signal
                      // of their own; pairs with is_to_be_sent
                      found->target->unmarked.exchange(false, std::memory_order_acquire);
    return ours ? found->target : nullptr;
  }
};

/// The calling thread takes the signal from now on, whatever its mask was.
void unblock_preempt_signal() noexcept;

/// The alternate signal stack of a thread, and what it had before.
class signal_stack {
 public:
  constexpr signal_stack() noexcept = default;
  signal_stack(const signal_stack&) = delete;
  signal_stack& operator=(const signal_stack&) = delete;

  /// Gets the memory, on any thread, before open(). False if there is none.
  bool reserve() noexcept;

  /// Called by the thread that is to take the signal.
  void open(preempt_target& target) noexcept;

  /// Opens it for handlers of faults alone, on a thread that takes no signal of ours; reserves the
  /// memory. False: the thread has such a stack already, or there is no memory.
  bool open_for_faults() noexcept;

  /// Called by the same thread, last. Another stack that the thread has got since stays.
  void close() noexcept;

  /// Frees memory that was reserved and not opened, or that is closed.
  void give_back() noexcept;

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t guards_ = 0;
  ::stack_t before_{};

  void set_up() noexcept;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/os/memory_parts.hpp>
#include <thrum/detail/os/posix/handler_chain.hpp>

#include <cerrno>
#include <new>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The handler that is ours in this process, and what else was installed for the signal.
struct urgent_handlers {
  static constexpr std::string_view process_name = "os::urgent_handlers";
  std::atomic<void (*)(int, ::siginfo_t*, void*)> ours{nullptr};
  handler_chain others;
};

THRUM_NOINLINE inline void handle_preempt_signal(int number, ::siginfo_t* info, void* context) {
  // A foreign handler may call us, and may have no more than the number.
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
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_PREEMPT_SIGNAL_HPP
