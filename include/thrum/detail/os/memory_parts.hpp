// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for memory and for what is there once in a process: what the layer's
// own files need of it.
#ifndef THRUM_DETAIL_OS_MEMORY_PARTS_HPP
#define THRUM_DETAIL_OS_MEMORY_PARTS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/fixed_extent.hpp>  // IWYU pragma: export
#include <thrum/detail/os/memory.hpp>        // IWYU pragma: export

#if THRUM_OS_ELF
#include <thrum/detail/os/elf/process_wide.hpp>  // IWYU pragma: export
#elif THRUM_OS_MACOS
#include <thrum/detail/os/darwin/process_wide.hpp>  // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/process_wide.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_DETAIL_OS_MEMORY_PARTS_HPP
