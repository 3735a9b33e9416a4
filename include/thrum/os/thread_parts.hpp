// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for threads: how they are started, sleep, are seen and interrupted by
// others, and order their memory. With THRUM_OS_PORTABLE, by what POSIX has and no more.
#ifndef THRUM_OS_THREAD_PARTS_HPP
#define THRUM_OS_THREAD_PARTS_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/answers.hpp>  // IWYU pragma: export
#include <thrum/os/clock.hpp>    // IWYU pragma: export
#include <thrum/os/note.hpp>     // IWYU pragma: export

#if THRUM_OS_POSIX
#include <thrum/os/posix/preempt_signal.hpp>  // IWYU pragma: export
#include <thrum/os/posix/thread.hpp>          // IWYU pragma: export
#include <thrum/os/posix/thread_word.hpp>     // IWYU pragma: export
#endif

#if THRUM_OS_WINDOWS
#include <thrum/os/windows/fence.hpp>           // IWYU pragma: export
#include <thrum/os/windows/preempt_signal.hpp>  // IWYU pragma: export
#include <thrum/os/windows/this_thread.hpp>     // IWYU pragma: export
#include <thrum/os/windows/thread.hpp>          // IWYU pragma: export
#include <thrum/os/windows/thread_ref.hpp>      // IWYU pragma: export
#include <thrum/os/windows/thread_word.hpp>     // IWYU pragma: export
#elif THRUM_OS_PORTABLE
#include <thrum/os/posix/ended_thread.hpp>  // IWYU pragma: export
#include <thrum/os/posix/fence.hpp>         // IWYU pragma: export
#include <thrum/os/posix/signal_mark.hpp>   // IWYU pragma: export
#include <thrum/os/posix/thread_ref.hpp>    // IWYU pragma: export
#elif THRUM_OS_LINUX
#include <thrum/os/linux/fence.hpp>         // IWYU pragma: export
#include <thrum/os/linux/futex.hpp>         // IWYU pragma: export
#include <thrum/os/linux/signal_value.hpp>  // IWYU pragma: export
#include <thrum/os/linux/thread.hpp>        // IWYU pragma: export
#include <thrum/os/linux/thread_ref.hpp>    // IWYU pragma: export
#endif

#if THRUM_OS_LINUX
#include <thrum/os/linux/this_thread.hpp>  // IWYU pragma: export
#elif THRUM_OS_MACOS
#include <thrum/os/darwin/this_thread.hpp>      // IWYU pragma: export
#include <thrum/os/darwin/wait_on_address.hpp>  // IWYU pragma: export
#elif THRUM_OS_FREEBSD
#include <thrum/os/freebsd/this_thread.hpp>  // IWYU pragma: export
#include <thrum/os/freebsd/umtx.hpp>         // IWYU pragma: export
#endif

#if !THRUM_HAS_FUTEX
#include <thrum/os/wait_table.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_OS_THREAD_PARTS_HPP
