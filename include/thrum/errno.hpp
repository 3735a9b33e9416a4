// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// errno for code in which a goroutine may change threads.
//
// Whatever blocks brings errno along to the thread on which the goroutine goes on. That is not
// enough where a function looks at errno on both sides of such a call, as any loop does: the C
// library's errno is an address that the compiler asks for once and keeps (os/thread_state.hpp),
// and then it reads the errno of the old thread, where another goroutine runs by now. So behind
// this header errno asks each time. It stays what the standard says it is: a macro for an int that
// can be assigned to.
//
// What is compiled before this header, or without it, is as it was. A user who wants the C
// library's macro everywhere defines THRUM_KEEP_ERRNO.
#ifndef THRUM_ERRNO_HPP
#define THRUM_ERRNO_HPP

#include <thrum/detail/os/thread_state.hpp>  // IWYU pragma: keep: in the macro

#include <cerrno>

#if !defined(THRUM_KEEP_ERRNO)
#undef errno
#define errno (*::thrum::os::thread_error_number())
#endif

#endif
