// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The callers of the running code.
#ifndef THRUM_OS_LINUX_BACKTRACE_HPP
#define THRUM_OS_LINUX_BACKTRACE_HPP

#include <cstddef>

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <ucontext.h>  // IWYU pragma: keep: ::ucontext_t

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

/// The registers of what a signal has interrupted, as the system keeps them, in what the handler
/// was given.
inline const auto& machine_state(const void* context) noexcept {
  return static_cast<const ::ucontext_t*>(context)->uc_mcontext;
}

/// The callers of the calling function, `skip` of them left out, and without the place where the
/// handler of a signal returns to. Does not allocate after its first call in the process. Takes the
/// lock of the loader.
void collect_callers(call_stack& out, std::size_t skip) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/backtrace_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_BACKTRACE_HPP
