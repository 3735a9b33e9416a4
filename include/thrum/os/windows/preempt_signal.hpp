// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Interrupting a thread: how a processor is taken from code that computes.
//
// There are no signals. The thread that wants it stops the other one, looks where it stands, and has it
// make a call there when it goes on (thread_ref.hpp). The call is the handler: it runs on the stack that
// it has interrupted, and may stay for long.
//
// What the call does not find on the stack it finds in the target: the interrupting thread writes
// nothing to a stack that is not its own, as on the page that guards it the write would fail and take
// the guard away.
#ifndef THRUM_OS_WINDOWS_PREEMPT_SIGNAL_HPP
#define THRUM_OS_WINDOWS_PREEMPT_SIGNAL_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/preempt_target.hpp>  // IWYU pragma: export

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Whether anybody is interrupted.
inline constexpr bool has_preempt_signal = true;

/// There is no signal.
inline constexpr int preempt_signal = 0;

/// Finds out what interrupted code must have kept, and where the system's libraries lie. One thread at a
/// time, before anybody is interrupted.
void install_preempt_handler() noexcept;

/// Nothing to do: nobody blocks what is no signal.
inline void unblock_preempt_signal() noexcept {}

/// Nothing to do: the call has the stack of what it interrupts.
class signal_stack {
 public:
  constexpr signal_stack() noexcept = default;
  signal_stack(const signal_stack&) = delete;
  signal_stack& operator=(const signal_stack&) = delete;

  /// True: there is no memory to get.
  static bool reserve() noexcept { return true; }
  /// Does nothing.
  static void open(preempt_target&) noexcept {}
  /// True: a handler of faults has a stack there.
  static bool open_for_faults() noexcept { return true; }
  /// Does nothing.
  static void close() noexcept {}
  /// Does nothing.
  static void give_back() noexcept {}
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/preempt_signal_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_PREEMPT_SIGNAL_HPP
