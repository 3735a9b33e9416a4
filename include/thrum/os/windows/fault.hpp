// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Access to memory that is not there, and stacks that are used up: a look at each fault before it takes
// its course.
//
// The handler runs on the stack of the thread that faulted. Of a stack that is used up the system keeps
// some pages for it.
#ifndef THRUM_OS_WINDOWS_FAULT_HPP
#define THRUM_OS_WINDOWS_FAULT_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Called in the handler, on the thread that faulted, with the address, and where its stack pointer
/// was. A stack that is used up was left at its lower end.
using fault_observer = void (*)(const void* address, const void* stack_pointer) noexcept;

/// From now on `observer` sees each fault first; then all others that handle exceptions. Once in a
/// process; later calls do nothing.
void install_fault_observer(fault_observer observer) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/fault_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_FAULT_HPP
