// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A running OS thread on Linux, which says whether it has ended.
#ifndef THRUM_DETAIL_OS_LINUX_THREAD_HPP
#define THRUM_DETAIL_OS_LINUX_THREAD_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/posix/thread.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Handle of a running OS thread. Must be joined before it is destroyed or assigned to.
class thread : public joinable_thread {
 public:
  /// Whether the thread has ended; if so it is joined. Does not block.
  [[nodiscard]] bool try_join() noexcept;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <pthread.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE bool thread::try_join() noexcept {
  if (!joinable_ || ::pthread_tryjoin_np(handle_, nullptr) != 0) {
    return false;
  }
  joinable_ = false;
  return true;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_DETAIL_OS_LINUX_THREAD_HPP
