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
#include <thrum/os/exit.hpp>             // IWYU pragma: export
#include <thrum/os/io_parts.hpp>         // IWYU pragma: export
#include <thrum/os/memory_parts.hpp>     // IWYU pragma: export
#include <thrum/os/thread_parts.hpp>     // IWYU pragma: export

#if THRUM_OS_POSIX
#include <thrum/os/posix/backtrace.hpp>  // IWYU pragma: export
#endif

#if THRUM_OS_LINUX
#include <thrum/os/linux/machine_state.hpp>  // IWYU pragma: export
#elif THRUM_OS_MACOS
#include <thrum/os/darwin/machine_state.hpp>  // IWYU pragma: export
#elif THRUM_OS_FREEBSD
#include <thrum/os/freebsd/machine_state.hpp>  // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/os/windows/backtrace.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_OS_PARTS_HPP
