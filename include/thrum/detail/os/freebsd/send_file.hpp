// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The call of FreeBSD that sends a file inside the system: see os/bsd/send_file.hpp.
#ifndef THRUM_DETAIL_OS_FREEBSD_SEND_FILE_HPP
#define THRUM_DETAIL_OS_FREEBSD_SEND_FILE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_FREEBSD

#include <thrum/detail/os/bsd/send_file.hpp>  // IWYU pragma: export

#if THRUM_BODIES
#include <thrum/detail/os/posix/broken_pipe.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/result.hpp>

#include <cstddef>
#include <cstdint>

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result send_some(handle fd, handle file, std::int64_t offset,
                                                     std::size_t n, std::int64_t& sent) noexcept {
  ::off_t length = 0;
  const io_result result = without_broken_pipe(
      [&] { return result_of(::sendfile(file, fd, offset, n, nullptr, &length, 0)); },
      [](io_result returned) { return returned == -EPIPE; });
  sent = length;
  return result;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_DETAIL_OS_FREEBSD_SEND_FILE_HPP
