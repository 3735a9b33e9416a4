// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for headers that declare: what threads, goroutines and descriptors
// are made of. The rest of the system, which only bodies need, comes with os.hpp.
#ifndef THRUM_OS_PARTS_HPP
#define THRUM_OS_PARTS_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/error_number.hpp>     // IWYU pragma: export
#include <thrum/os/exception_state.hpp>  // IWYU pragma: export

#if THRUM_OS_LINUX
#include <thrum/os/linux/backtrace.hpp>       // IWYU pragma: export
#include <thrum/os/linux/clock.hpp>           // IWYU pragma: export
#include <thrum/os/linux/descriptor.hpp>      // IWYU pragma: export
#include <thrum/os/linux/exit.hpp>            // IWYU pragma: export
#include <thrum/os/linux/fence.hpp>           // IWYU pragma: export
#include <thrum/os/linux/file.hpp>            // IWYU pragma: export
#include <thrum/os/linux/memory.hpp>          // IWYU pragma: export
#include <thrum/os/linux/note.hpp>            // IWYU pragma: export
#include <thrum/os/linux/pipe.hpp>            // IWYU pragma: export
#include <thrum/os/linux/preempt_signal.hpp>  // IWYU pragma: export
#include <thrum/os/linux/process.hpp>         // IWYU pragma: export
#include <thrum/os/linux/process_wide.hpp>    // IWYU pragma: export
#include <thrum/os/linux/socket.hpp>          // IWYU pragma: export
#include <thrum/os/linux/thread.hpp>          // IWYU pragma: export
#include <thrum/os/linux/thread_clock.hpp>    // IWYU pragma: export
#else
#error "thrum: this operating system is not supported; supported is Linux"
#endif

#endif  // THRUM_OS_PARTS_HPP
