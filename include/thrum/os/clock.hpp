// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the clock of the system: now() and deadline_after(). Apart from the rest of the layer, for
// its own files.
#ifndef THRUM_OS_CLOCK_HPP
#define THRUM_OS_CLOCK_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX
#include <thrum/os/posix/clock.hpp>  // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/os/windows/clock.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_OS_CLOCK_HPP
