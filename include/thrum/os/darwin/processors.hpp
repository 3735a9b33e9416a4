// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many processors the program may use on macOS, which has neither masks nor quotas.
#ifndef THRUM_OS_DARWIN_PROCESSORS_HPP
#define THRUM_OS_DARWIN_PROCESSORS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_MACOS

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Those that are switched on; at least 1.
unsigned available_processors() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/darwin/processors_definition.hpp>
#endif

#endif  // THRUM_OS_MACOS
#endif  // THRUM_OS_DARWIN_PROCESSORS_HPP
