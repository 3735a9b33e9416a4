// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The call of macOS that sends a file inside the system: see os/bsd/send_file.hpp.
#ifndef THRUM_DETAIL_OS_DARWIN_SEND_FILE_HPP
#define THRUM_DETAIL_OS_DARWIN_SEND_FILE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_MACOS

#include <thrum/detail/os/bsd/send_file.hpp>  // IWYU pragma: export

#if THRUM_BODIES
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
  ::off_t length = static_cast<::off_t>(n);
  const io_result result = result_of(::sendfile(file, fd, offset, &length, nullptr, 0));
  sent = length;
  return result;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_MACOS
#endif  // THRUM_DETAIL_OS_DARWIN_SEND_FILE_HPP
