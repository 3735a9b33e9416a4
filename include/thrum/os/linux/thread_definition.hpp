// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/thread.hpp declares: the body that is not inlined.
#ifndef THRUM_OS_LINUX_THREAD_DEFINITION_HPP
#define THRUM_OS_LINUX_THREAD_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/os/linux/thread.hpp>

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

#endif  // THRUM_OS_LINUX
#endif
