// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many processors this process may use.
#ifndef THRUM_OS_WINDOWS_PROCESSORS_HPP
#define THRUM_OS_WINDOWS_PROCESSORS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Those of the process's mask, fewer where a job has a hard limit of CPU time; at least 1.
unsigned available_processors() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/processors_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_PROCESSORS_HPP
