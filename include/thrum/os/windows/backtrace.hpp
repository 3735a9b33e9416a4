// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The callers of the running code.
#ifndef THRUM_OS_WINDOWS_BACKTRACE_HPP
#define THRUM_OS_WINDOWS_BACKTRACE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/machine.hpp>  // IWYU pragma: export

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

#if !THRUM_SEPARATE
#include <thrum/os/windows/backtrace_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_BACKTRACE_HPP
