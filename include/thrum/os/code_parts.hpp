// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for code in memory: which file holds an address, what that file says
// of it, and its lines. For os/posix/symbol.hpp alone.
#ifndef THRUM_OS_CODE_PARTS_HPP
#define THRUM_OS_CODE_PARTS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX
#include <thrum/os/elf/code_image.hpp>     // IWYU pragma: export
#include <thrum/os/linux/loaded_code.hpp>  // IWYU pragma: export
#if THRUM_OS_ANDROID
#include <thrum/os/posix/no_source_lines.hpp>  // IWYU pragma: export
#else
#include <thrum/os/linux/source_lines.hpp>  // IWYU pragma: export
#endif
#elif THRUM_OS_MACOS
#include <thrum/os/bsd/loaded_code.hpp>        // IWYU pragma: export
#include <thrum/os/darwin/code_image.hpp>      // IWYU pragma: export
#include <thrum/os/posix/no_source_lines.hpp>  // IWYU pragma: export
#elif THRUM_OS_FREEBSD
#include <thrum/os/bsd/loaded_code.hpp>        // IWYU pragma: export
#include <thrum/os/elf/code_image.hpp>         // IWYU pragma: export
#include <thrum/os/posix/no_source_lines.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_OS_CODE_PARTS_HPP
