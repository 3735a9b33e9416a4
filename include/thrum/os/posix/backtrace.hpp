// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The callers of the running code.
#ifndef THRUM_OS_POSIX_BACKTRACE_HPP
#define THRUM_OS_POSIX_BACKTRACE_HPP

#include <cstddef>

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

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

#if !THRUM_SEPARATE
#include <thrum/os/posix/backtrace_definition.hpp>
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_OS_POSIX_BACKTRACE_HPP
