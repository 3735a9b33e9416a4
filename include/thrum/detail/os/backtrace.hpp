// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The callers of the running code.
#ifndef THRUM_DETAIL_OS_BACKTRACE_HPP
#define THRUM_DETAIL_OS_BACKTRACE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Code addresses, the innermost first. Each lies inside the instruction at which its function
/// stands, so that names and lines are looked up right: inside the call that it waits for, not
/// behind it, as the call may be the last instruction of its function; or where a signal has
/// interrupted it, which may be the first.
struct call_stack {
  static constexpr std::size_t capacity = 64;
  const void* frames[capacity] = {};
  std::size_t size = 0;
};

/// The callers of the calling function, `skip` of them left out, and without the place where the
/// handler of a signal returns to. Does not allocate after its first call in the process. Takes the
/// lock of the loader.
void collect_callers(call_stack& out, std::size_t skip) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <unwind.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void collect_callers(call_stack& out, std::size_t skip) noexcept {
  struct walk {
    call_stack& to;
    std::size_t left_out;
  } state{out, skip + 1};
  out.size = 0;
  ::_Unwind_Backtrace(
      [](_Unwind_Context* frame, void* argument) noexcept {
        auto& w = *static_cast<walk*>(argument);
        int was_interrupted = 0;
#if THRUM_HAS_ARM_UNWINDER  // no such function: gcc has a macro in its place, clang has none
        const auto address = _Unwind_GetIP(frame);
#else
        const auto address = _Unwind_GetIPInfo(frame, &was_interrupted);
#endif
        if (was_interrupted != 0 && w.to.size != 0) {
          --w.to.size;  // the frame before this one is the signal's
        }
        if (address == 0 || w.to.size == call_stack::capacity) {
          return _URC_END_OF_STACK;
        }
        if (w.left_out != 0) {
          --w.left_out;
        } else {
          w.to.frames[w.to.size++] =
              reinterpret_cast<const void*>(address - (was_interrupted != 0 ? 0 : 1));
        }
        return _URC_NO_REASON;
      },
      &state);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/windows/machine_aarch64.hpp>  // IWYU pragma: export
#include <thrum/detail/os/windows/machine_x86_64.hpp>   // IWYU pragma: export

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Code addresses, the innermost first. Each lies inside the instruction at which its function
/// stands, so that names and lines are looked up right: inside the call that it waits for, not
/// behind it, as the call may be the last instruction of its function; or where it was interrupted,
/// which may be the first.
struct call_stack {
  static constexpr std::size_t capacity = 64;
  const void* frames[capacity] = {};
  std::size_t size = 0;
};

/// The callers of the calling function, `skip` of them left out, and without the injected call where
/// code was interrupted. Does not allocate.
void collect_callers(call_stack& out, std::size_t skip) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void collect_callers(call_stack& out, std::size_t skip) noexcept {
  out.size = 0;
  ::CONTEXT machine;
  ::RtlCaptureContext(&machine);
  const auto injected = reinterpret_cast<std::uint64_t>(&thrum_injected_call);
  std::size_t left_out = skip + 1;
  bool was_interrupted = false;
  while (place_of(machine) != 0 && out.size != call_stack::capacity) {
    ::DWORD64 image = 0;
    ::RUNTIME_FUNCTION* const entry = ::RtlLookupFunctionEntry(place_of(machine), &image, nullptr);
    const bool is_injected = entry != nullptr && image + entry->BeginAddress == injected;
    if (left_out != 0) {
      --left_out;
    } else if (!is_injected) {
      out.frames[out.size++] =
          reinterpret_cast<const void*>(place_of(machine) - (was_interrupted ? 0 : 1));
    }
    was_interrupted = is_injected;
    const std::uintptr_t before = stack_pointer_of(machine);
    if (entry == nullptr) {  // a function that has nothing on the stack but where it returns to
      return_from_leaf(machine);
    } else {
      void* of_handler = nullptr;
      ::DWORD64 frame = 0;
      ::RtlVirtualUnwind(0, image, place_of(machine), entry, &machine, &of_handler, &frame,
                         nullptr);
    }
    if (!has_left_frame(machine, before)) {
      return;
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_BACKTRACE_HPP
