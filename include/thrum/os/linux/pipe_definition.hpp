// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/pipe.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_PIPE_DEFINITION_HPP
#define THRUM_OS_LINUX_PIPE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/base/order.hpp>
#include <thrum/os/linux/pipe.hpp>
#include <thrum/os/posix/broken_pipe.hpp>
#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/message.hpp>
#include <thrum/os/posix/result.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_pipe(handle (&fds)[2]) noexcept {
  return result_of(::pipe2(fds, O_NONBLOCK | O_CLOEXEC));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result transfer_with_flags(long number, handle fd,
                                                               const piece* parts,
                                                               std::size_t count,
                                                               int flags) noexcept {
  constexpr unsigned long where_it_is = ~0UL;  // an offset of -1
  const io_result result =
      result_of(::syscall(number, fd, parts, count, where_it_is, where_it_is, flags));
  return result == -ENOSYS ? cannot_tell : result;
}

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
#if defined(SYS_pwritev2)
  if (has_signal_free_write.load(relaxed)) {  // relaxed: a fact about the system
    const io_result result = transfer_with_flags(SYS_pwritev2, fd, parts, count, rwf_nosignal);
    if (result != cannot_tell) {
      return result;
    }
    has_signal_free_write.store(false, relaxed);  // relaxed: a fact about the system
  }
#endif
  return without_broken_pipe(
      [&] { return result_of(::writev(fd, parts, static_cast<int>(count))); },
      [](io_result result) { return result == -EPIPE; });
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_at_once(handle fd, void* to,
                                                        std::size_t n) noexcept {
#if defined(SYS_preadv2)
  const piece part = piece_of(to, n);
  return transfer_with_flags(SYS_preadv2, fd, &part, 1, rwf_nowait);
#else
  static_cast<void>(fd), static_cast<void>(to), static_cast<void>(n);
  return cannot_tell;
#endif
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_at_once(handle fd, const void* from,
                                                         std::size_t n) noexcept {
#if defined(SYS_pwritev2)
  const piece part = piece_of(from, n);
  if (has_signal_free_write.load(relaxed)) {  // relaxed: a fact about the system
    const io_result result =
        transfer_with_flags(SYS_pwritev2, fd, &part, 1, rwf_nowait | rwf_nosignal);
    if (result != cannot_tell) {
      return result;
    }
  }
  return without_broken_pipe(
      [&] { return transfer_with_flags(SYS_pwritev2, fd, &part, 1, rwf_nowait); },
      [](io_result result) { return result == -EPIPE; });
#else
  static_cast<void>(fd), static_cast<void>(from), static_cast<void>(n);
  return cannot_tell;
#endif
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif
