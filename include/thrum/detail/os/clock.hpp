// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the clock of the system: now() and deadline_after(). Apart from the rest of the layer, for
// its own files.
#ifndef THRUM_DETAIL_OS_CLOCK_HPP
#define THRUM_DETAIL_OS_CLOCK_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX
#include <thrum/detail/os/posix/clock.hpp>  // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/clock.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_DETAIL_OS_CLOCK_HPP
