// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system. What its layer must offer is in contract.hpp, and checked in
// chosen_system.hpp.
#ifndef THRUM_OS_OS_HPP
#define THRUM_OS_OS_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/parts.hpp>  // IWYU pragma: export

#if THRUM_OS_LINUX
#include <thrum/os/linux/caught_signals.hpp>  // IWYU pragma: export
#include <thrum/os/linux/child_watch.hpp>     // IWYU pragma: export
#include <thrum/os/linux/fault.hpp>           // IWYU pragma: export
#include <thrum/os/linux/processors.hpp>      // IWYU pragma: export
#include <thrum/os/linux/quit_signal.hpp>     // IWYU pragma: export
#include <thrum/os/linux/source_lines.hpp>    // IWYU pragma: export
#include <thrum/os/linux/symbol.hpp>          // IWYU pragma: export
#include <thrum/os/linux/unwind_table.hpp>    // IWYU pragma: export
#else
#error "thrum: this operating system is not supported; supported is Linux"
#endif

#endif  // THRUM_OS_OS_HPP
