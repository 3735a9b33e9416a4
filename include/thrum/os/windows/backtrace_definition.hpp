// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/backtrace.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_WINDOWS_BACKTRACE_DEFINITION_HPP
#define THRUM_OS_WINDOWS_BACKTRACE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/backtrace.hpp>
#include <thrum/os/windows/machine_aarch64_definition.hpp>
#include <thrum/os/windows/machine_x86_64_definition.hpp>

#include <cstddef>
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

#endif  // THRUM_OS_WINDOWS
#endif
