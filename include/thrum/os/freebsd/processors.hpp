// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many processors the program may use on FreeBSD: those of the calling thread's mask, which cpuset(1)
// and jails set. Limits of CPU time (rctl) are not looked at: they need not be compiled into a kernel.
#ifndef THRUM_OS_FREEBSD_PROCESSORS_HPP
#define THRUM_OS_FREEBSD_PROCESSORS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_FREEBSD

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// At least 1.
unsigned available_processors() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/freebsd/processors_definition.hpp>
#endif

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_OS_FREEBSD_PROCESSORS_HPP
