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
#include <thrum/os/windows/preempt_signal_definition.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_NO_SANITIZE THRUM_OUT_OF_LINE interrupted_machine
machine_state(const void* context) noexcept {
  // The last that was pushed lies lowest.
  const auto* const word = static_cast<const volatile std::uint64_t*>(context);
  interrupted_machine at{};
  at.Rbp = word[0];
  at.R15 = word[1];
  at.R14 = word[2];
  at.R13 = word[3];
  at.R12 = word[4];
  at.Rdi = word[5];
  at.Rsi = word[6];
  at.Rbx = word[7];
  at.R11 = word[8];
  at.R10 = word[9];
  at.R9 = word[10];
  at.R8 = word[11];
  at.Rdx = word[12];
  at.Rcx = word[13];
  at.Rax = word[14];
  at.Rip = word[16];
  at.Rsp = reinterpret_cast<std::uint64_t>(word + 17);
  return at;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void collect_callers(call_stack& out, std::size_t skip) noexcept {
  out.size = 0;
  ::CONTEXT machine;
  ::RtlCaptureContext(&machine);
  const auto injected = reinterpret_cast<std::uint64_t>(&thrum_injected_call);
  std::size_t left_out = skip + 1;
  bool was_interrupted = false;
  while (machine.Rip != 0 && out.size != call_stack::capacity) {
    ::DWORD64 image = 0;
    ::RUNTIME_FUNCTION* const entry = ::RtlLookupFunctionEntry(machine.Rip, &image, nullptr);
    const bool is_injected = entry != nullptr && image + entry->BeginAddress == injected;
    if (left_out != 0) {
      --left_out;
    } else if (!is_injected) {
      out.frames[out.size++] =
          reinterpret_cast<const void*>(machine.Rip - (was_interrupted ? 0 : 1));
    }
    was_interrupted = is_injected;
    const std::uint64_t before = machine.Rsp;
    if (entry == nullptr) {  // a function that has nothing on the stack but where it returns to
      machine.Rip = *reinterpret_cast<const std::uint64_t*>(machine.Rsp);
      machine.Rsp += sizeof machine.Rip;
    } else {
      void* of_handler = nullptr;
      ::DWORD64 frame = 0;
      ::RtlVirtualUnwind(0, image, machine.Rip, entry, &machine, &of_handler, &frame, nullptr);
    }
    if (machine.Rsp <= before) {
      return;
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif
