// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for what the wait table needs of it (wait_table.hpp).
#ifndef THRUM_DETAIL_OS_THREAD_EVENT_HPP
#define THRUM_DETAIL_OS_THREAD_EVENT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/thread_event.hpp>  // IWYU pragma: export
#else
#include <thrum/detail/os/posix/thread_event.hpp>  // IWYU pragma: export
#endif

#endif
