// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the memory of the system: pages, stacks, guards. Apart from the rest of the layer, for its own
// files.
#ifndef THRUM_DETAIL_OS_MEMORY_HPP
#define THRUM_DETAIL_OS_MEMORY_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX
#include <thrum/detail/os/linux/memory.hpp>  // IWYU pragma: export
#elif THRUM_OS_BSD
#include <thrum/detail/os/posix/memory.hpp>  // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/memory.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_DETAIL_OS_MEMORY_HPP
