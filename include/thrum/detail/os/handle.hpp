// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses what the system knows an open descriptor by. Apart from the rest of the layer, for a
// poller that is compiled alone.
#ifndef THRUM_DETAIL_OS_HANDLE_HPP
#define THRUM_DETAIL_OS_HANDLE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX
#include <thrum/detail/os/posix/handle.hpp>  // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/handle.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_DETAIL_OS_HANDLE_HPP
