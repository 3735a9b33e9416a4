// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system. What its layer must offer is in contract.hpp, and checked in
// chosen_system.hpp.
#ifndef THRUM_OS_OS_HPP
#define THRUM_OS_OS_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/error_number.hpp>
#include <thrum/os/exception_state.hpp>

#if THRUM_OS_LINUX
#include <thrum/os/linux/backtrace.hpp>
#include <thrum/os/linux/caught_signals.hpp>
#include <thrum/os/linux/child_watch.hpp>
#include <thrum/os/linux/clock.hpp>
#include <thrum/os/linux/descriptor.hpp>
#include <thrum/os/linux/exit.hpp>
#include <thrum/os/linux/fault.hpp>
#include <thrum/os/linux/fence.hpp>
#include <thrum/os/linux/file.hpp>
#include <thrum/os/linux/memory.hpp>
#include <thrum/os/linux/note.hpp>
#include <thrum/os/linux/pipe.hpp>
#include <thrum/os/linux/preempt_signal.hpp>
#include <thrum/os/linux/process.hpp>
#include <thrum/os/linux/process_wide.hpp>
#include <thrum/os/linux/processors.hpp>
#include <thrum/os/linux/quit_signal.hpp>
#include <thrum/os/linux/socket.hpp>
#include <thrum/os/linux/source_lines.hpp>
#include <thrum/os/linux/symbol.hpp>
#include <thrum/os/linux/thread.hpp>
#include <thrum/os/linux/thread_clock.hpp>
#include <thrum/os/linux/unwind_table.hpp>
#else
#error "thrum: this operating system is not supported; supported is Linux"
#endif

#endif  // THRUM_OS_OS_HPP
