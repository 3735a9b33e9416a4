// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for what the wait table needs of it (wait_table.hpp).
#ifndef THRUM_OS_THREAD_EVENT_HPP
#define THRUM_OS_THREAD_EVENT_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS
#include <thrum/os/windows/thread_event.hpp>  // IWYU pragma: export
#else
#include <thrum/os/posix/thread_event.hpp>  // IWYU pragma: export
#endif

#endif
