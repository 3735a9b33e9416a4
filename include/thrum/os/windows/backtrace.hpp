// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The callers of the running code.
#ifndef THRUM_OS_WINDOWS_BACKTRACE_HPP
#define THRUM_OS_WINDOWS_BACKTRACE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <cstddef>
#include <cstdint>

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

/// The registers of interrupted code, by the names that they have in the system's own record.
struct interrupted_machine {
  std::uint64_t Rax, Rcx, Rdx, Rbx, Rsp, Rbp, Rsi, Rdi;
  std::uint64_t R8, R9, R10, R11, R12, R13, R14, R15, Rip;
};

/// What the injected call has kept (preempt_signal.hpp): `context` is preempt_target::context.
interrupted_machine machine_state(const void* context) noexcept;

/// The callers of the calling function, `skip` of them left out, and without the injected call where
/// code was interrupted. Does not allocate.
void collect_callers(call_stack& out, std::size_t skip) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/backtrace_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_BACKTRACE_HPP
