// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/descriptor.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_DESCRIPTOR_DEFINITION_HPP
#define THRUM_OS_POSIX_DESCRIPTOR_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/os/posix/descriptor.hpp>
#include <thrum/os/posix/uninterrupted.hpp>

#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result close(handle fd) noexcept {
  const uninterrupted still;
  return result_of(::close(fd));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_nonblocking(handle fd, bool on) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) {
    return -errno;
  }
  const int wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
  return wanted == flags ? 0 : result_of(::fcntl(fd, F_SETFL, wanted));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result wait_for(handle fd, bool to_write,
                                                    int timeout_ms) noexcept {
  ::pollfd one{fd, static_cast<short>(to_write ? POLLOUT : POLLIN), 0};
  const int returned = ::poll(&one, 1, timeout_ms);
  return returned > 0 && (one.revents & POLLNVAL) != 0 ? -EBADF : result_of(returned);
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_POSIX
#endif
