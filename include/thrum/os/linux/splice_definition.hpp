// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/splice.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_SPLICE_DEFINITION_HPP
#define THRUM_OS_LINUX_SPLICE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/os/linux/splice.hpp>
#include <thrum/os/posix/broken_pipe.hpp>
#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/result.hpp>

#include <cerrno>
#include <cstddef>

#include <fcntl.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result splice_to_pipe(handle from, handle pipe,
                                                          std::size_t n) noexcept {
  return result_of(::splice(from, nullptr, pipe, nullptr, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
}

THRUM_OUT_OF_LINE io_result splice_from_pipe(handle pipe, handle to, std::size_t n) noexcept {
  return without_broken_pipe([&] { return splice_to_pipe(pipe, to, n); },
                             [&](io_result result) {
                               return result == -EPIPE ||
                                      (result >= 0 && static_cast<std::size_t>(result) < n);
                             });
}

THRUM_OUT_OF_LINE void widen_pipe(handle either_end, std::size_t n) noexcept {
  static_cast<void>(::fcntl(either_end, F_SETPIPE_SZ, static_cast<int>(n)));
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif  // THRUM_OS_LINUX_SPLICE_DEFINITION_HPP
