// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Access to memory that is not there: a look at each fault before it takes its course.
#ifndef THRUM_OS_POSIX_FAULT_HPP
#define THRUM_OS_POSIX_FAULT_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Called in the handler, on the thread that faulted, with the address, and where its stack pointer
/// was.
using fault_observer = void (*)(const void* address, const void* stack_pointer) noexcept;

/// From now on `observer` sees each fault first; then the handler that was there before, or the
/// default action, sees it as if we were not there. Once in a process; later calls do nothing.
void install_fault_observer(fault_observer observer) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/fault_definition.hpp>
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_OS_POSIX_FAULT_HPP
