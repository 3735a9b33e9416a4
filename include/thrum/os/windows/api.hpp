// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The system's headers, for bodies only: with THRUM_SEPARATE a user's source does not read them. The
// newer half of the sockets comes first, as the older one is left out then; min and max stay functions.
// What a program needs beyond WIN32_LEAN_AND_MEAN it includes itself.
#ifndef THRUM_OS_WINDOWS_API_HPP
#define THRUM_OS_WINDOWS_API_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <winsock2.h>  // IWYU pragma: export
// The order matters.
#include <windows.h>  // IWYU pragma: export

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_API_HPP
