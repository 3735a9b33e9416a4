// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system. What its layer must offer is in contract.hpp, and checked in
// chosen_system.hpp.
#ifndef THRUM_OS_OS_HPP
#define THRUM_OS_OS_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/parts.hpp>  // IWYU pragma: export

#if THRUM_OS_POSIX
#include <thrum/os/code_parts.hpp>            // IWYU pragma: export
#include <thrum/os/posix/caught_signals.hpp>  // IWYU pragma: export
#include <thrum/os/posix/fault.hpp>           // IWYU pragma: export
#include <thrum/os/posix/quit_signal.hpp>     // IWYU pragma: export
#include <thrum/os/posix/symbol.hpp>          // IWYU pragma: export
#endif

#if THRUM_OS_LINUX
#include <thrum/os/elf/unwind_table.hpp>  // IWYU pragma: export
#include <thrum/os/linux/processors.hpp>  // IWYU pragma: export
#elif THRUM_OS_MACOS
#include <thrum/os/darwin/processors.hpp>    // IWYU pragma: export
#include <thrum/os/darwin/unwind_table.hpp>  // IWYU pragma: export
#elif THRUM_OS_FREEBSD
#include <thrum/os/elf/unwind_table.hpp>    // IWYU pragma: export
#include <thrum/os/freebsd/processors.hpp>  // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/os/windows/caught_signals.hpp>  // IWYU pragma: export
#include <thrum/os/windows/fault.hpp>           // IWYU pragma: export
#include <thrum/os/windows/processors.hpp>      // IWYU pragma: export
#include <thrum/os/windows/quit_signal.hpp>     // IWYU pragma: export
#include <thrum/os/windows/source_lines.hpp>    // IWYU pragma: export
#include <thrum/os/windows/symbol.hpp>          // IWYU pragma: export
#include <thrum/os/windows/unwind_table.hpp>    // IWYU pragma: export
#endif

#endif  // THRUM_OS_OS_HPP
