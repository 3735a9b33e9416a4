// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Access to memory that is not there, and stacks that are used up: a look at each fault before it takes
// its course.
//
// The handler runs on the stack of the thread that faulted. Of a stack that is used up the system keeps
// some pages for it.
#ifndef THRUM_DETAIL_OS_WINDOWS_FAULT_HPP
#define THRUM_DETAIL_OS_WINDOWS_FAULT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Called in the handler, on the thread that faulted, with the address, and where its stack pointer
/// was. A stack that is used up was left at its lower end.
using fault_observer = void (*)(const void* address, const void* stack_pointer) noexcept;

/// Has `observer` see each fault before all other exception handlers. Once in a process; later calls
/// do nothing.
void install_fault_observer(fault_observer observer) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/machine_aarch64.hpp>
#include <thrum/detail/os/windows/machine_x86_64.hpp>
#include <thrum/detail/os/windows/process_wide.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

struct fault_handling {
  static constexpr std::string_view process_name = "os::fault_handling";
  std::atomic<fault_observer> observe{nullptr};
};

/// The lowest address that the stack of the calling thread may ever have.
inline std::uintptr_t end_of_own_stack() noexcept {
  constexpr std::uint32_t low_in_block = 0x1478;
  return reinterpret_cast<std::uintptr_t>(load_thread_word(low_in_block));
}

THRUM_NOINLINE inline ::LONG __stdcall handle_fault(::EXCEPTION_POINTERS* about) {
  const ::EXCEPTION_RECORD& record = *about->ExceptionRecord;
  // relaxed: set before the handler is installed
  const fault_observer observe = process_wide<fault_handling>::get().observe.load(relaxed);
  const auto* const sp = reinterpret_cast<const void*>(stack_pointer_of(*about->ContextRecord));
  if (record.ExceptionCode == EXCEPTION_STACK_OVERFLOW) {
    observe(reinterpret_cast<const void*>(end_of_own_stack() - 1), sp);
  } else if (record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION && record.NumberParameters >= 2) {
    observe(reinterpret_cast<const void*>(record.ExceptionInformation[1]), sp);
  }
  return EXCEPTION_CONTINUE_SEARCH;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void install_fault_observer(fault_observer observer) noexcept {
  fault_observer none = nullptr;
  auto& known = process_wide<fault_handling>::get().observe;
  // relaxed: only one goes on
  if (known.compare_exchange_strong(none, observer, relaxed, relaxed)) {
    constexpr ::ULONG before_others = 1;
    ::AddVectoredExceptionHandler(before_others, &handle_fault);
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_FAULT_HPP
