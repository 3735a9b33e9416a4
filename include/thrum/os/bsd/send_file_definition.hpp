// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/bsd/send_file.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_BSD_SEND_FILE_DEFINITION_HPP
#define THRUM_OS_BSD_SEND_FILE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_BSD

#include <thrum/os/bsd/send_file.hpp>
#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/result.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE io_result send_file(handle fd, handle file, std::int64_t offset,
                                      std::size_t n) noexcept {
  std::int64_t sent = 0;
  const io_result result = n != 0 ? send_some(fd, file, offset, n, sent) : 0;  // 0: all of it
  return sent != 0 ? sent : result;
}

THRUM_OUT_OF_LINE bool cannot_send_file(io_result sent) noexcept {
  return sent == -EINVAL || sent == -ENOTSUP || sent == -EOPNOTSUPP || sent == -ENOTSOCK ||
         sent == -ESPIPE;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_BSD
#endif  // THRUM_OS_BSD_SEND_FILE_DEFINITION_HPP
