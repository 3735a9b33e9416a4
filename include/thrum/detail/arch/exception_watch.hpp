// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Seeing an exception leave a call while everything still stands where it was thrown.
//
// An exception is thrown in two phases: first the unwinder asks each frame whether it has a
// handler, from the innermost outwards; only then it unwinds. arch::call_watched is a frame that is
// asked, never has a handler, and tells an observer.
#ifndef THRUM_DETAIL_ARCH_EXCEPTION_WATCH_HPP
#define THRUM_DETAIL_ARCH_EXCEPTION_WATCH_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>

#if THRUM_EXCEPTIONS

#include <cstdint>

#if THRUM_HAS_SEH_UNWINDER  // there <unwind.h> includes all of the system's headers
#include <exception>

#include <cxxabi.h>
#else
#include <unwind.h>
#endif

namespace thrum { inline namespace THRUM_ABI { namespace arch {

/// Called with the address of the thrown object.
using exception_observer = void (*)(const void* thrown) noexcept;

inline constinit base::set_once<exception_observer> observe_exception{nullptr};

}}}  // namespace thrum::THRUM_ABI::arch

#if THRUM_HAS_SEH_UNWINDER
// As <windows.h> declares it.
struct _EXCEPTION_POINTERS;
extern "C" __declspec(dllimport) long __stdcall UnhandledExceptionFilter(
    struct _EXCEPTION_POINTERS*);
#endif

namespace thrum { inline namespace THRUM_ABI { namespace arch {

#if THRUM_HAS_SEH_UNWINDER

/// What Windows knows of a raised exception.
struct raised_exception {
  std::uint32_t code;
  std::uint32_t flags;
  void* nested;
  void* address;
  std::uint32_t count;
  std::uintptr_t information[15];
};

/// A handler's answers: the thread continues where it was; or the search continues.
inline constexpr int go_on_there = 0;
inline constexpr int go_on_searching = 1;

/// In the flags: no handler is searched for, or no more; also to a target, at the end of a thread, in a
/// collision.
inline constexpr std::uint32_t unwinding = 0x66;

/// Whether a handler is searched for something that was thrown. The library of C++ raises its
/// exceptions with a code of its own, and the unwinder's part as the first word.
inline bool is_thrown(const raised_exception& raised) noexcept {
  constexpr std::uint32_t thrown_in_cxx = 0x2047'4343;
  return raised.code == thrown_in_cxx && (raised.flags & unwinding) == 0 && raised.count != 0;
}

#endif

#if THRUM_HAS_ARM_UNWINDER

// The 32-bit Arm unwinder leaves it to each function's routine to take its frame away; this takes it away.
extern "C" ::_Unwind_Reason_Code __gnu_unwind_frame(::_Unwind_Control_Block*, ::_Unwind_Context*);

/// The routine that the entry of call_watched names. Also called for a walk without an exception.
[[gnu::used, gnu::visibility("hidden")]] inline ::_Unwind_Reason_Code thrum_watch_exception(
    ::_Unwind_State, ::_Unwind_Control_Block*,
    ::_Unwind_Context*) asm(THRUM_SYMBOL("thrum_watch_exception"));
inline ::_Unwind_Reason_Code thrum_watch_exception(::_Unwind_State state,
                                                   ::_Unwind_Control_Block* exception,
                                                   ::_Unwind_Context* context) {
  const exception_observer observe = observe_exception.get();
  if ((state & _US_ACTION_MASK) == _US_VIRTUAL_UNWIND_FRAME && (state & _US_FORCE_UNWIND) == 0 &&
      observe != nullptr) {
    observe(exception + 1);  // the object lies behind the unwinder's part
  }
  return __gnu_unwind_frame(exception, context) == _URC_OK ? _URC_CONTINUE_UNWIND : _URC_FAILURE;
}

#elif THRUM_HAS_SEH_UNWINDER

/// The routine that the entry of call_watched names. Called for each exception and fault that passes.
[[gnu::used]] inline int thrum_watch_exception(const raised_exception*, void*, void*,
                                               void*) asm(THRUM_SYMBOL("thrum_watch_exception"));
inline int thrum_watch_exception(const raised_exception* raised, void*, void*, void*) {
  const exception_observer observe = observe_exception.get();
  if (is_thrown(*raised) && observe != nullptr) {
    constexpr std::uintptr_t unwinder_bytes = 64;  // and behind them the object
    observe(reinterpret_cast<const void*>(raised->information[0] + unwinder_bytes));
  }
  return go_on_searching;
}

/// The handler of the first function of a stack: no frame has caught the exception. An exception of C++ ends
/// the program here as it does elsewhere, where the unwinder comes to the end of the stack and returns to
/// `throw`. For all others this asks the program's own filter, as the first function of a thread does:
/// the system would ask no filter, and end the process.
[[gnu::used]] inline int thrum_end_by_exception(const raised_exception*, void*, void*,
                                                void*) asm(THRUM_SYMBOL("thrum_end_by_exception"));
inline int thrum_end_by_exception(const raised_exception* raised, void*, void* machine, void*) {
  constexpr long continue_execution = -1;
  if ((raised->flags & unwinding) != 0) {
    return go_on_searching;
  }
  if (is_thrown(*raised)) {
    ::__cxxabiv1::__cxa_begin_catch(reinterpret_cast<void*>(raised->information[0]));
    std::terminate();
  }
  struct {
    const raised_exception* raised;
    void* machine;
  } about{raised, machine};
  return ::UnhandledExceptionFilter(reinterpret_cast<::_EXCEPTION_POINTERS*>(&about)) ==
                 continue_execution
             ? go_on_there
             : go_on_searching;
}

#else

/// What the call-frame information of call_watched names; the assembler writes names as they are, while
/// some compilers put a character before them.
[[gnu::used, gnu::visibility("hidden")]] inline ::_Unwind_Reason_Code thrum_watch_exception(
    int, ::_Unwind_Action phase, std::uint64_t, ::_Unwind_Exception* exception,
    ::_Unwind_Context*) asm(THRUM_SYMBOL("thrum_watch_exception"));
inline ::_Unwind_Reason_Code thrum_watch_exception(int, ::_Unwind_Action phase, std::uint64_t,
                                                   ::_Unwind_Exception* exception,
                                                   ::_Unwind_Context*) {
  const exception_observer observe = observe_exception.get();
  if ((phase & _UA_SEARCH_PHASE) != 0 && observe != nullptr) {
    observe(exception + 1);  // the object lies behind the unwinder's part
  }
  return _URC_CONTINUE_UNWIND;
}

#endif

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_EXCEPTIONS
#endif  // THRUM_DETAIL_ARCH_EXCEPTION_WATCH_HPP
