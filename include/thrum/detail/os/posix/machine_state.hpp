// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The registers of what a signal has interrupted. On macOS and FreeBSD by the names and in the order in which
// the files of arch/ look for them, which are those of Linux.
#ifndef THRUM_DETAIL_OS_POSIX_MACHINE_STATE_HPP
#define THRUM_DETAIL_OS_POSIX_MACHINE_STATE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

struct x86_64_machine {
  /// r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
  std::uint64_t gregs[17];
};

struct aarch64_machine {
  std::uint64_t regs[31];
  std::uint64_t sp;
  std::uint64_t pc;
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_BSD

#if THRUM_OS_MACOS

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

#if THRUM_OS_FREEBSD

#include <cstddef>
#include <cstdint>

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A template, as each processor has other members.
template <class State>
auto registers_of(const State& state) noexcept {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  if constexpr (requires { state.mc_rip; }) {
    return x86_64_machine{{number(state.mc_r8), number(state.mc_r9), number(state.mc_r10),
                           number(state.mc_r11), number(state.mc_r12), number(state.mc_r13),
                           number(state.mc_r14), number(state.mc_r15), number(state.mc_rdi),
                           number(state.mc_rsi), number(state.mc_rbp), number(state.mc_rbx),
                           number(state.mc_rdx), number(state.mc_rax), number(state.mc_rcx),
                           number(state.mc_rsp), number(state.mc_rip)}};
  } else {
    aarch64_machine machine{};
    for (std::size_t i = 0; i != 30; ++i) {
      machine.regs[i] = number(state.mc_gpregs.gp_x[i]);
    }
    machine.regs[30] = number(state.mc_gpregs.gp_lr);
    machine.sp = number(state.mc_gpregs.gp_sp);
    machine.pc = number(state.mc_gpregs.gp_elr);
    return machine;
  }
}

/// The registers of what a signal has interrupted, out of what its handler was given.
inline auto machine_state(const void* context) noexcept {
  return registers_of(static_cast<const ::ucontext_t*>(context)->uc_mcontext);
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_FREEBSD

#if THRUM_OS_LINUX

#include <signal.h>  // IWYU pragma: keep: ucontext_t

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The registers of what a signal has interrupted, as the system keeps them, in what the handler
/// was given.
inline const auto& machine_state(const void* context) noexcept {
  return static_cast<const ::ucontext_t*>(context)->uc_mcontext;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_DETAIL_OS_POSIX_MACHINE_STATE_HPP
