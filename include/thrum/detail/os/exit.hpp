// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for the end of the process.
#ifndef THRUM_DETAIL_OS_EXIT_HPP
#define THRUM_DETAIL_OS_EXIT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX
#include <thrum/detail/os/posix/exit.hpp>  // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/exit.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_DETAIL_OS_EXIT_HPP
