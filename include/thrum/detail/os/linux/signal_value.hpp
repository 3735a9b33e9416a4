// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What tells our signal from others on Linux: it is sent with a value.
#ifndef THRUM_DETAIL_OS_LINUX_SIGNAL_VALUE_HPP
#define THRUM_DETAIL_OS_LINUX_SIGNAL_VALUE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Its si_code: below 0, so not the kernel's, and not sigqueue's. Emulators keep no more than that.
inline constexpr int preempt_code = -0x7472;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
// What Linux does in its own way for os/posix/preempt_signal.hpp: target_of, signal_frame_bytes.

#include <thrum/detail/os/posix/preempt_signal.hpp>

#include <cstddef>

#include <sys/auxv.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Where an emulator refuses a signal with a value, the handler finds its thread by its stack.
THRUM_OUT_OF_LINE preempt_target* target_of(const ::siginfo_t& info, const void* context) noexcept {
  if (info.si_code == preempt_code) {
    return static_cast<preempt_target*>(info.si_value.sival_ptr);
  }
  const ::stack_t& stack = static_cast<const ::ucontext_t*>(context)->uc_stack;
  if (info.si_code != SI_TKILL || (stack.ss_flags & SS_DISABLE) != 0 || stack.ss_sp == nullptr) {
    return nullptr;
  }
  return signal_stack_mark::target_at(stack.ss_sp);
}

/// The kernel says it: 12 KiB where there are wide vectors.
THRUM_OUT_OF_LINE std::size_t signal_frame_bytes() noexcept {
  constexpr unsigned long at_minsigstksz = 51;  // newer than some systems' headers
  return ::getauxval(at_minsigstksz);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_DETAIL_OS_LINUX_SIGNAL_VALUE_HPP
