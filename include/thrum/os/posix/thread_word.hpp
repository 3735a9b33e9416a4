// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A word of each thread that is read often: the compiler's thread_local is as fast as can be.
#ifndef THRUM_OS_POSIX_THREAD_WORD_HPP
#define THRUM_OS_POSIX_THREAD_WORD_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The type of a variable that is declared with THRUM_THREAD_LOCAL.
template <class Pointer>
using thread_word = Pointer;

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_POSIX
#endif  // THRUM_OS_POSIX_THREAD_WORD_HPP
