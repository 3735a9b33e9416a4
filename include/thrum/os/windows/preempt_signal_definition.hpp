// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/preempt_signal.hpp declares: the bodies that are not inlined. The call that an
// interrupted thread makes is in machine_*_definition.hpp; what it calls is here.
#ifndef THRUM_OS_WINDOWS_PREEMPT_SIGNAL_DEFINITION_HPP
#define THRUM_OS_WINDOWS_PREEMPT_SIGNAL_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/base/order.hpp>
#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/machine_aarch64_definition.hpp>
#include <thrum/os/windows/machine_x86_64_definition.hpp>
#include <thrum/os/windows/preempt_signal.hpp>

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

#endif  // THRUM_OS_WINDOWS
#endif
