// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Seeing an exception leave a call while everything still stands where it was thrown.
//
// An exception is thrown in two phases: first the unwinder asks each frame whether it has a
// handler, from the innermost outwards; only then it unwinds. arch::call_watched is a frame that is
// asked, never has a handler, and tells an observer.
#ifndef THRUM_ARCH_EXCEPTION_WATCH_HPP
#define THRUM_ARCH_EXCEPTION_WATCH_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>

#if THRUM_EXCEPTIONS

#include <atomic>
#include <cstdint>

#include <unwind.h>

namespace thrum { inline namespace THRUM_ABI { namespace arch {

using namespace base::orders;

/// Called with the address of the thrown object.
using exception_observer = void (*)(const void* thrown) noexcept;

inline constinit std::atomic<exception_observer> observe_exception{nullptr};

extern "C" {

/// What the call-frame information of call_watched names.
[[gnu::used, gnu::visibility("hidden")]] inline ::_Unwind_Reason_Code thrum_watch_exception(
    int, ::_Unwind_Action phase, std::uint64_t, ::_Unwind_Exception* exception,
    ::_Unwind_Context*) {
  // relaxed: a constant once set
  const exception_observer observe = observe_exception.load(relaxed);
  if ((phase & _UA_SEARCH_PHASE) != 0 && observe != nullptr) {
    observe(exception + 1);  // the object lies behind the unwinder's part
  }
  return _URC_CONTINUE_UNWIND;
}

}  // extern "C"

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_EXCEPTIONS
#endif  // THRUM_ARCH_EXCEPTION_WATCH_HPP
