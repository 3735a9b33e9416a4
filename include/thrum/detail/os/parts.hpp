// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for headers that declare: what threads, goroutines and descriptors
// are made of. The rest of the system, which only bodies need, comes with os.hpp.
#ifndef THRUM_DETAIL_OS_PARTS_HPP
#define THRUM_DETAIL_OS_PARTS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/backtrace.hpp>     // IWYU pragma: export
#include <thrum/detail/os/exit.hpp>          // IWYU pragma: export
#include <thrum/detail/os/io_parts.hpp>      // IWYU pragma: export
#include <thrum/detail/os/memory_parts.hpp>  // IWYU pragma: export
#include <thrum/detail/os/thread_parts.hpp>  // IWYU pragma: export
#include <thrum/detail/os/thread_state.hpp>  // IWYU pragma: export

#if THRUM_OS_POSIX
#include <thrum/detail/os/posix/machine_state.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_DETAIL_OS_PARTS_HPP
