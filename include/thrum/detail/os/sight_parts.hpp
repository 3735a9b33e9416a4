// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for what others see of a thread: for os/posix/thread_ref.hpp alone.
#ifndef THRUM_DETAIL_OS_SIGHT_PARTS_HPP
#define THRUM_DETAIL_OS_SIGHT_PARTS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_MACOS
#include <thrum/detail/os/darwin/thread.hpp>  // IWYU pragma: export
#elif THRUM_OS_FREEBSD
#include <thrum/detail/os/freebsd/thread.hpp>  // IWYU pragma: export
#elif THRUM_OS_PORTABLE
#include <thrum/detail/os/posix/thread_sight.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {
using thread_sight = clock_sight;
}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_DETAIL_OS_SIGHT_PARTS_HPP
