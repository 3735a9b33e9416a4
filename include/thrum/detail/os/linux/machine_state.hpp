// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The registers of what a signal has interrupted, on Linux.
#ifndef THRUM_DETAIL_OS_LINUX_MACHINE_STATE_HPP
#define THRUM_DETAIL_OS_LINUX_MACHINE_STATE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX

#include <signal.h>  // IWYU pragma: keep: ucontext_t

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The registers of what a signal has interrupted, as the system keeps them, in what the handler
/// was given.
inline const auto& machine_state(const void* context) noexcept {
  return static_cast<const ::ucontext_t*>(context)->uc_mcontext;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_DETAIL_OS_LINUX_MACHINE_STATE_HPP
