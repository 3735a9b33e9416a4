// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The registers of what a signal has interrupted, on macOS.
#ifndef THRUM_DETAIL_OS_DARWIN_MACHINE_STATE_HPP
#define THRUM_DETAIL_OS_DARWIN_MACHINE_STATE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_MACOS

#include <thrum/detail/os/bsd/machine_registers.hpp>

#include <cstddef>
#include <cstdint>

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A template, as each processor has other members.
template <class State>
auto registers_of(const State& state) noexcept {
  if constexpr (requires { state.__rip; }) {
    return x86_64_machine{{state.__r8, state.__r9, state.__r10, state.__r11, state.__r12,
                           state.__r13, state.__r14, state.__r15, state.__rdi, state.__rsi,
                           state.__rbp, state.__rbx, state.__rdx, state.__rax, state.__rcx,
                           state.__rsp, state.__rip}};
  } else {
    aarch64_machine machine{};
    for (std::size_t i = 0; i != 29; ++i) {
      machine.regs[i] = state.__x[i];
    }
    machine.regs[29] = state.__fp;
    machine.regs[30] = state.__lr;
    machine.sp = state.__sp;
    machine.pc = state.__pc;
    return machine;
  }
}

/// The registers of what a signal has interrupted, out of what its handler was given.
inline auto machine_state(const void* context) noexcept {
  return registers_of(static_cast<const ::ucontext_t*>(context)->uc_mcontext->__ss);
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_MACOS
#endif  // THRUM_DETAIL_OS_DARWIN_MACHINE_STATE_HPP
