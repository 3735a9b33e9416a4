// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for memory and for what is there once in a process: what the layer's
// own files need of it.
#ifndef THRUM_OS_MEMORY_PARTS_HPP
#define THRUM_OS_MEMORY_PARTS_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/fixed_extent.hpp>  // IWYU pragma: export
#include <thrum/os/memory.hpp>        // IWYU pragma: export

#if THRUM_OS_ELF
#include <thrum/os/elf/process_wide.hpp>  // IWYU pragma: export
#elif THRUM_OS_MACOS
#include <thrum/os/darwin/process_wide.hpp>  // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/os/windows/process_wide.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_OS_MEMORY_PARTS_HPP
