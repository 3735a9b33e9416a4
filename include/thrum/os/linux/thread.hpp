// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A running OS thread on Linux, which says whether it has ended.
#ifndef THRUM_OS_LINUX_THREAD_HPP
#define THRUM_OS_LINUX_THREAD_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/posix/thread.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Handle of a running OS thread. Must be joined before it is destroyed or assigned to.
class thread : public joinable_thread {
 public:
  /// Whether the thread has ended; if so it is joined. Does not block.
  [[nodiscard]] bool try_join() noexcept;
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/thread_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_THREAD_HPP
