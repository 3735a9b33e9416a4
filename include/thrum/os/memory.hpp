// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the memory of the system: pages, stacks, guards. Apart from the rest of the layer, for its own
// files.
#ifndef THRUM_OS_MEMORY_HPP
#define THRUM_OS_MEMORY_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX
#include <thrum/os/linux/memory.hpp>  // IWYU pragma: export
#elif THRUM_OS_BSD
#include <thrum/os/posix/memory.hpp>  // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/os/windows/memory.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_OS_MEMORY_HPP
