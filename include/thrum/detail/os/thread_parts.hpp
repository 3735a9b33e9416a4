// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for threads: how they are started, sleep, are seen and interrupted by
// others, and order their memory. With THRUM_OS_PORTABLE, by what POSIX has and no more.
#ifndef THRUM_DETAIL_OS_THREAD_PARTS_HPP
#define THRUM_DETAIL_OS_THREAD_PARTS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/answers.hpp>  // IWYU pragma: export
#include <thrum/detail/os/clock.hpp>    // IWYU pragma: export
#include <thrum/detail/os/fence.hpp>    // IWYU pragma: export
#include <thrum/detail/os/note.hpp>     // IWYU pragma: export

#if THRUM_OS_POSIX
#include <thrum/detail/os/posix/preempt_signal.hpp>  // IWYU pragma: export
#include <thrum/detail/os/posix/thread.hpp>          // IWYU pragma: export
#endif

#if THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/preempt_signal.hpp>  // IWYU pragma: export
#include <thrum/detail/os/windows/thread.hpp>          // IWYU pragma: export
#include <thrum/detail/os/windows/thread_ref.hpp>      // IWYU pragma: export
#include <thrum/detail/os/windows/thread_word.hpp>     // IWYU pragma: export
#elif THRUM_OS_PORTABLE
#include <thrum/detail/os/posix/thread_ref.hpp>  // IWYU pragma: export
#elif THRUM_OS_LINUX
#include <thrum/detail/os/linux/futex.hpp>  // IWYU pragma: export
#endif

#if THRUM_OS_LINUX
#include <thrum/detail/os/linux/thread.hpp>  // IWYU pragma: export
#elif THRUM_OS_BSD
#include <thrum/detail/os/bsd/thread.hpp>  // IWYU pragma: export
#endif

#if THRUM_OS_MACOS
#include <thrum/detail/os/darwin/wait_on_address.hpp>  // IWYU pragma: export
#elif THRUM_OS_FREEBSD
#include <thrum/detail/os/freebsd/umtx.hpp>  // IWYU pragma: export
#endif

#if !THRUM_HAS_FUTEX
#include <thrum/detail/os/wait_table.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_DETAIL_OS_THREAD_PARTS_HPP
