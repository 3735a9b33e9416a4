// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where a thread keeps errno.
//
// The C library declares the function behind errno `const`: a compiler calls it once for a function
// and keeps the address, also across a call in which the goroutine has changed threads. The
// accessor below is not inlined, and its asm keeps it from being taken for such a function. An M
// asks once and keeps the address of its own thread; a goroutine reaches errno through its M.
#ifndef THRUM_DETAIL_OS_ERROR_NUMBER_HPP
#define THRUM_DETAIL_OS_ERROR_NUMBER_HPP

#include <thrum/detail/base/config.hpp>

#include <cerrno>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The calling thread's errno; good on this thread only.
THRUM_NOINLINE inline int* thread_error_number() noexcept {
  asm volatile("");
  return &errno;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif
