// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Code that no signal interrupts, on POSIX.
#ifndef THRUM_DETAIL_OS_POSIX_UNINTERRUPTED_HPP
#define THRUM_DETAIL_OS_POSIX_UNINTERRUPTED_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Blocks all signals to the end of a block.
class uninterrupted {
 public:
  uninterrupted() noexcept {
    ::sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~uninterrupted() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  uninterrupted(const uninterrupted&) = delete;
  uninterrupted& operator=(const uninterrupted&) = delete;

 private:
  ::sigset_t before_;
};

}}}  // namespace thrum::THRUM_ABI::os

#endif

#endif
