// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for code in memory: which file holds an address, what that file says
// of it, and its lines. For os/posix/symbol.hpp alone.
#ifndef THRUM_DETAIL_OS_CODE_PARTS_HPP
#define THRUM_DETAIL_OS_CODE_PARTS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX
#include <thrum/detail/os/elf/code_image.hpp>     // IWYU pragma: export
#include <thrum/detail/os/linux/loaded_code.hpp>  // IWYU pragma: export
#if THRUM_OS_ANDROID
#include <thrum/detail/os/posix/no_source_lines.hpp>  // IWYU pragma: export
#else
#include <thrum/detail/os/linux/source_lines.hpp>  // IWYU pragma: export
#endif
#elif THRUM_OS_MACOS
#include <thrum/detail/os/bsd/loaded_code.hpp>        // IWYU pragma: export
#include <thrum/detail/os/darwin/code_image.hpp>      // IWYU pragma: export
#include <thrum/detail/os/posix/no_source_lines.hpp>  // IWYU pragma: export
#elif THRUM_OS_FREEBSD
#include <thrum/detail/os/bsd/loaded_code.hpp>        // IWYU pragma: export
#include <thrum/detail/os/elf/code_image.hpp>         // IWYU pragma: export
#include <thrum/detail/os/posix/no_source_lines.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_DETAIL_OS_CODE_PARTS_HPP
