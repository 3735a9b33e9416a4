// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many processors the program may use on Linux: the affinity mask, then the quota of its
// control groups, which cgroup.hpp reads.
#ifndef THRUM_OS_LINUX_PROCESSORS_HPP
#define THRUM_OS_LINUX_PROCESSORS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Processors in the affinity mask of the calling thread, at least 1.
unsigned affinity_processors() noexcept;

/// Processors that the program may use: the affinity mask of the calling thread, or the quota of
/// its control groups rounded up where that is less; at least 1. Reads files: for the start of a
/// scheduler.
unsigned available_processors() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/processors_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_PROCESSORS_HPP
