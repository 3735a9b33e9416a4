// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What tells our signal from others on Linux: it is sent with a value.
#ifndef THRUM_OS_LINUX_SIGNAL_VALUE_HPP
#define THRUM_OS_LINUX_SIGNAL_VALUE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Its si_code: below 0, so not the kernel's, and not sigqueue's. Emulators keep no more than that.
inline constexpr int preempt_code = -0x7472;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/signal_value_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_SIGNAL_VALUE_HPP
