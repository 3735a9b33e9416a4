// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What tells our signal from others where none can carry a value to a thread: the stack that its
// handler runs on is ours, and a signal was sent to that thread.
#ifndef THRUM_OS_POSIX_SIGNAL_MARK_HPP
#define THRUM_OS_POSIX_SIGNAL_MARK_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_PORTABLE

#if !THRUM_SEPARATE
#include <thrum/os/posix/signal_mark_definition.hpp>
#endif

#endif  // THRUM_OS_PORTABLE
#endif  // THRUM_OS_POSIX_SIGNAL_MARK_HPP
