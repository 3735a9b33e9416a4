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

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

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
  /// first begins is taken for another's, and passed on as a stray one.
  std::atomic<bool> unmarked{false};
};

inline constexpr int preempt_signal = SIGURG;
/// Its si_code: below 0, so not the kernel's, and not sigqueue's. Emulators keep no more than that.
inline constexpr int preempt_code = -0x7472;

/// Makes sure that the signal comes to us. Cheap when it does already. One thread at a time, and
/// none that could have been interrupted by it.
void install_preempt_handler() noexcept;

/// Interrupts a thread of this process. False if it has ended.
bool send_preempt_signal(std::uint64_t thread, preempt_target& target) noexcept;

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

  /// Called by the same thread, last.
  void close() noexcept;

  /// Frees memory that was reserved and not opened, or that is closed.
  void give_back() noexcept;

 private:
  static constexpr unsigned long at_minsigstksz = 51;  // newer than some systems' headers

  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t guards_ = 0;
  ::stack_t before_{};
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/preempt_signal_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_PREEMPT_SIGNAL_HPP
