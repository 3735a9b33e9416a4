// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system. tests/ports/system_contract.hpp says what its layer must offer, and
// tests/ports/chosen_system.hpp checks it.
#ifndef THRUM_DETAIL_OS_OS_HPP
#define THRUM_DETAIL_OS_OS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>       // IWYU pragma: export
#include <thrum/detail/os/processors.hpp>  // IWYU pragma: export

#if THRUM_OS_POSIX
#include <thrum/detail/os/posix/caught_signals.hpp>  // IWYU pragma: export
#include <thrum/detail/os/posix/fault.hpp>           // IWYU pragma: export
#include <thrum/detail/os/posix/symbol.hpp>          // IWYU pragma: export
#include <thrum/detail/os/posix/unwind_table.hpp>    // IWYU pragma: export
#endif

#if THRUM_OS_LINUX && !THRUM_OS_ANDROID
#include <thrum/detail/os/linux/bare_places.hpp>  // IWYU pragma: export
#endif
#if THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/caught_signals.hpp>  // IWYU pragma: export
#include <thrum/detail/os/windows/fault.hpp>           // IWYU pragma: export
#include <thrum/detail/os/windows/symbol.hpp>          // IWYU pragma: export
#include <thrum/detail/os/windows/unwind_table.hpp>    // IWYU pragma: export
#endif

#endif  // THRUM_DETAIL_OS_OS_HPP
