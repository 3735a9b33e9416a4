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
#ifndef THRUM_DETAIL_OS_WINDOWS_PREEMPT_SIGNAL_HPP
#define THRUM_DETAIL_OS_WINDOWS_PREEMPT_SIGNAL_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/windows/preempt_target.hpp>  // IWYU pragma: export

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Whether threads are interrupted.
inline constexpr bool has_preempt_signal = true;

/// There is no signal.
inline constexpr int preempt_signal = 0;

/// Finds out what interrupted code must have kept, and where the system's libraries lie. One thread at a
/// time, before any thread is interrupted.
void install_preempt_handler() noexcept;

/// Nothing to do: there is no signal that a thread could block.
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

#if THRUM_BODIES
// The call that an interrupted thread makes is in machine_*.hpp; what it calls is here.

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/machine_aarch64.hpp>
#include <thrum/detail/os/windows/machine_x86_64.hpp>

#include <cerrno>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// The part of it that needs no assembly.
void thrum_run_interruption(preempt_target*, const void*) noexcept
    asm(THRUM_SYMBOL("thrum_run_interruption"));
[[gnu::used]] THRUM_NOINLINE inline void thrum_run_interruption(preempt_target* target,
                                                                const void* pushed) noexcept {
  const ::DWORD last_error = ::GetLastError();
  const int error_number = errno;
  target->context = pushed;
  target->interrupt(target->argument);
  target->context = nullptr;
  errno = error_number;
  ::SetLastError(last_error);
  target->is_under_way.store(false, release);  // [pt.call >] the words of the target are free again
}

/// Where a library lies in memory.
struct code_range {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;

  bool holds(std::uintptr_t address) const noexcept { return address >= low && address < high; }

  static code_range of(const wchar_t* library) noexcept {
    const auto* const begin = reinterpret_cast<const char*>(::GetModuleHandleW(library));
    if (begin == nullptr) {
      return {};
    }
    const auto* const old = reinterpret_cast<const ::IMAGE_DOS_HEADER*>(begin);
    const auto* const head = reinterpret_cast<const ::IMAGE_NT_HEADERS*>(begin + old->e_lfanew);
    const auto low = reinterpret_cast<std::uintptr_t>(begin);
    return {low, low + head->OptionalHeader.SizeOfImage};
  }
};

/// Those with locks that the system has no way to take from a thread that stands still.
inline constinit code_range system_code[2];
/// Those from which it is called.
inline constinit code_range calling_code[2];

THRUM_NOINLINE THRUM_OUT_OF_LINE void install_preempt_handler() noexcept {
  system_code[0] = code_range::of(L"ntdll.dll");
  system_code[1] = code_range::of(L"kernelbase.dll");
  calling_code[0] = system_code[0];
  calling_code[1] = code_range::of(L"win32u.dll");
  find_what_a_call_keeps();
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_PREEMPT_SIGNAL_HPP
