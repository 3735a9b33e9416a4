// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/darwin/plain_write.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_DARWIN_PLAIN_WRITE_DEFINITION_HPP
#define THRUM_OS_DARWIN_PLAIN_WRITE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_MACOS

#include <thrum/os/darwin/plain_write.hpp>
#include <thrum/os/posix/descriptor.hpp>
#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/message.hpp>
#include <thrum/os/posix/result.hpp>

#include <cstddef>

#include <fcntl.h>
#include <sys/uio.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE io_result write_without_signal(handle fd, const void* from,
                                                 std::size_t n) noexcept {
  const piece part = piece_of(from, n);
  return write_pieces(fd, &part, 1);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_pieces(handle fd, const piece* parts,
                                                       std::size_t count) noexcept {
  return result_of(::readv(fd, parts, static_cast<int>(count)));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_pieces(handle fd, const piece* parts,
                                                        std::size_t count) noexcept {
  const io_result told = result_of(::fcntl(fd, F_GETNOSIGPIPE));
  if (told < 0) {
    return told;
  }
  if (told == 0) {
    if (const io_result result = result_of(::fcntl(fd, F_SETNOSIGPIPE, 1)); result < 0) {
      return result;
    }
  }
  return result_of(::writev(fd, parts, static_cast<int>(count)));
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_MACOS
#endif  // THRUM_OS_DARWIN_PLAIN_WRITE_DEFINITION_HPP
