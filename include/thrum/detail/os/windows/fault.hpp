// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Exceptions of the system by which a program crashes: a look at each before it takes its course.
//
// Two handlers look. The first one sees an access to memory before all others, for stacks that are used up.
// The last one is the filter of exceptions that no frame has handled. Then the filter that was there
// before has its say: the C library's, or the program's own. Both run on the stack of the thread that faulted. Of
// a stack that is used up the system keeps some pages for them.
#ifndef THRUM_DETAIL_OS_WINDOWS_FAULT_HPP
#define THRUM_DETAIL_OS_WINDOWS_FAULT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <cstdint>

struct _CONTEXT;  // as the system's header has it

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What is known of a fault in its handler. A stack that is used up was left at its lower end.
struct fault {
  const char* name = nullptr;           ///< of the exception, as the system's headers have it
  bool is_memory = false;               ///< an access to memory that must not be
  bool has_address = false;             ///< else the program has raised it
  bool is_last = false;                 ///< no frame has handled it: it ends the process
  const void* address = nullptr;        ///< of the memory, else of the instruction
  const void* stack_pointer = nullptr;  ///< where the interrupted code had it
  const void* context = nullptr;        ///< for fault_machine
};

/// Called in the handler, on the thread that faulted.
using fault_observer = void (*)(const fault& what) noexcept;

/// Which faults are seen.
enum class fault_kinds : std::uint8_t {
  memory,  ///< accesses to memory, before all handlers
  all,     ///< also each exception by which programs crash and that no frame has handled
};

/// Has `observer` see each fault. The first observer of a process stays.
void install_fault_observer(fault_observer observer, fault_kinds kinds) noexcept;

/// The registers of what has faulted.
const ::_CONTEXT& fault_machine(const fault& what) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
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
  std::atomic<bool> has_filter{false};
  base::set_once<::LPTOP_LEVEL_EXCEPTION_FILTER> earlier{nullptr};
};

inline const ::_CONTEXT& fault_machine(const fault& what) noexcept {
  return *static_cast<const ::CONTEXT*>(what.context);
}

/// The name of an exception by which programs crash; null: it is another one.
constexpr const char* name_of_fault(::DWORD code) noexcept {
  switch (code) {
    case EXCEPTION_ACCESS_VIOLATION: return "ACCESS_VIOLATION";
    case EXCEPTION_IN_PAGE_ERROR: return "IN_PAGE_ERROR";
    case EXCEPTION_STACK_OVERFLOW: return "STACK_OVERFLOW";
    case EXCEPTION_ILLEGAL_INSTRUCTION: return "ILLEGAL_INSTRUCTION";
    case EXCEPTION_PRIV_INSTRUCTION: return "PRIV_INSTRUCTION";
    case EXCEPTION_INT_DIVIDE_BY_ZERO: return "INT_DIVIDE_BY_ZERO";
    case EXCEPTION_INT_OVERFLOW: return "INT_OVERFLOW";
    case EXCEPTION_FLT_DIVIDE_BY_ZERO: return "FLT_DIVIDE_BY_ZERO";
    case EXCEPTION_FLT_INVALID_OPERATION: return "FLT_INVALID_OPERATION";
    case EXCEPTION_DATATYPE_MISALIGNMENT: return "DATATYPE_MISALIGNMENT";
    default: return nullptr;
  }
}

/// What is known of it.
inline fault fault_of(const ::EXCEPTION_POINTERS& about) noexcept {
  const ::EXCEPTION_RECORD& record = *about.ExceptionRecord;
  fault what;
  what.name = name_of_fault(record.ExceptionCode);
  what.is_memory =
      record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION && record.NumberParameters >= 2;
  what.has_address = true;
  what.address = what.is_memory ? reinterpret_cast<const void*>(record.ExceptionInformation[1])
                                : record.ExceptionAddress;
  what.stack_pointer = reinterpret_cast<const void*>(stack_pointer_of(*about.ContextRecord));
  what.context = about.ContextRecord;
  return what;
}

/// The lowest address that the stack of the calling thread may ever have.
inline std::uintptr_t end_of_own_stack() noexcept {
  constexpr std::uint32_t low_in_block = 0x1478;
  return reinterpret_cast<std::uintptr_t>(load_thread_word(low_in_block));
}

THRUM_NOINLINE inline ::LONG __stdcall handle_fault(::EXCEPTION_POINTERS* about) {
  // relaxed: set before the handler is installed
  const fault_observer observe = process_wide<fault_handling>::get().observe.load(relaxed);
  fault what = fault_of(*about);
  if (about->ExceptionRecord->ExceptionCode == EXCEPTION_STACK_OVERFLOW) {
    what.is_memory = true;
    what.address = reinterpret_cast<const void*>(end_of_own_stack() - 1);
  }
  if (what.is_memory) {
    observe(what);
  }
  return EXCEPTION_CONTINUE_SEARCH;
}

/// No frame has handled the exception.
THRUM_NOINLINE inline ::LONG __stdcall filter_fault(::EXCEPTION_POINTERS* about) {
  fault what = fault_of(*about);
  what.is_last = true;
  // A used-up stack has no room for a report.
  if (what.name != nullptr && about->ExceptionRecord->ExceptionCode != EXCEPTION_STACK_OVERFLOW) {
    // relaxed: set before the filter is installed
    process_wide<fault_handling>::get().observe.load(relaxed)(what);
  }
  const auto earlier = process_wide<fault_handling>::get().earlier.get();
  return earlier != nullptr ? earlier(about) : EXCEPTION_CONTINUE_SEARCH;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void install_fault_observer(fault_observer observer,
                                                             fault_kinds kinds) noexcept {
  fault_observer none = nullptr;
  auto& known = process_wide<fault_handling>::get();
  // relaxed: only one goes on
  if (known.observe.compare_exchange_strong(none, observer, relaxed, relaxed)) {
    constexpr ::ULONG before_others = 1;
    ::AddVectoredExceptionHandler(before_others, &handle_fault);
  }
  // relaxed: only one goes on
  if (kinds == fault_kinds::all && !known.has_filter.exchange(true, relaxed)) {
    known.earlier.set(::SetUnhandledExceptionFilter(&filter_fault));
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_FAULT_HPP
