// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A word of each thread that is read often, and an object of each: the compiler's thread_local.
#ifndef THRUM_DETAIL_OS_POSIX_THREAD_WORD_HPP
#define THRUM_DETAIL_OS_POSIX_THREAD_WORD_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The type of a variable that is declared with THRUM_THREAD_LOCAL.
template <class Pointer>
using thread_word = Pointer;

/// The type of an object that is declared with THRUM_THREAD_LOCAL, and with THRUM_FIXED_THREAD_LOCAL if a
/// handler uses it.
template <class T>
using thread_object = T;

/// The calling thread's own of such an object.
// UBSan of gcc 12 takes a thread_local for null.
template <class T>
THRUM_INLINE __attribute__((no_sanitize("null"))) T& of_this_thread(T& object) noexcept {
  return object;
}

/// The calling thread's own, made when it is asked for first and destroyed at the thread's end.
template <class T>
THRUM_NOINLINE T& of_this_thread() noexcept {
  asm volatile("");
  static thread_local T own;
  return own;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_THREAD_WORD_HPP
