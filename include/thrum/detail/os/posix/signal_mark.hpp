// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What tells our signal from others where none can carry a value to a thread: the stack that its
// handler runs on is ours, and a signal was sent to that thread.
#ifndef THRUM_DETAIL_OS_POSIX_SIGNAL_MARK_HPP
#define THRUM_DETAIL_OS_POSIX_SIGNAL_MARK_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_PORTABLE

#if THRUM_BODIES
// What systems do in several ways for os/posix/preempt_signal.hpp: target_of, signal_frame_bytes.

#include <thrum/detail/os/posix/preempt_signal.hpp>

#include <cstddef>

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The system is asked for the stack: what a context says of it differs.
THRUM_NOINLINE THRUM_OUT_OF_LINE preempt_target* target_of(const ::siginfo_t&,
                                                           const void*) noexcept {
  ::stack_t stack{};
  if (::sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) != 0 ||
      stack.ss_sp == nullptr) {
    return nullptr;
  }
  return signal_stack_mark::target_at(stack.ss_sp);
}

/// With room for the widest vectors that there are.
THRUM_OUT_OF_LINE std::size_t signal_frame_bytes() noexcept {
  constexpr std::size_t widest = std::size_t{16} << 10;
  const auto least = static_cast<std::size_t>(MINSIGSTKSZ);
  return least < widest ? widest : least;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_POSIX_SIGNAL_MARK_HPP
